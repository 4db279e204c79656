//! Loops over the registry's mechanisms. Each mechanism has types of its own, so that a loop is written out by a macro; `$list` is the
//! registry's list in brackets.

/// Does something for every mechanism, whose type is `$of`.
macro_rules! for_all {
    ([$($name:ident => $mechanism:path),+] |$of:ident| $do:expr) => {
        $({
            type $of = $mechanism;
            $do;
        })+
    };
}

/// The same with the parameters of every mechanism, `None` where it is off.
macro_rules! for_all_of {
    ([$($name:ident => $mechanism:path),+] $config:ident, |$scoped:ident, $of:ident| $do:expr) => {
        $({
            type $of = $mechanism;
            let $scoped = $config.$name.as_ref();
            $do;
        })+
    };
}

/// The same for those that are on.
macro_rules! for_configured {
    ($list:tt $config:ident, |$scoped:ident, $of:ident| $do:expr) => {
        $crate::stack::for_all_of!($list $config, |$scoped, $of| if let Some($scoped) = $scoped {
            $do;
        })
    };
}

/// Does something with every side that is there, as `$by` borrows it: `$of` is its mechanism's type, and `$owner` its number. The
/// registry's first four are asked for one by one. Whether there is any of the others is asked once, since most runs have none.
macro_rules! for_sides {
    (
        [$a:ident => $of_a:path, $b:ident => $of_b:path, $c:ident => $of_c:path, $d:ident => $of_d:path, $($more:tt)+]
        $stack:ident.$by:ident, |$side:ident, $owner:ident, $of:ident| $do:expr
    ) => {
        $crate::stack::for_sides!(
            each [$a => $of_a, $b => $of_b, $c => $of_c, $d => $of_d] $stack.$by, |$side, $owner, $of| $do
        );
        if $stack.more {
            $crate::stack::for_sides!(each [$($more)+] $stack.$by, |$side, $owner, $of| $do);
        }
    };
    (
        each [$($name:ident => $mechanism:path),+]
        $stack:ident.$by:ident, |$side:ident, $owner:ident, $of:ident| $do:expr
    ) => {
        $(if let Some($side) = $stack.$name.$by() {
            #[allow(dead_code, reason = "not every loop asks for the type")]
            type $of = $mechanism;
            #[allow(unused_variables, reason = "nor for the number")]
            let $owner = Owner(Number::$name as u8);
            $do;
        })+
    };
}

/// Does something with the side of one mechanism, by its number, if it is there.
macro_rules! side_of {
    ([$($name:ident => $mechanism:path),+] $stack:ident.$by:ident, $owner:expr, |$side:ident| $do:expr) => {
        $(if $owner == Owner(Number::$name as u8) {
            if let Some($side) = $stack.$name.$by() {
                $do;
            }
        })+
    };
}

/// Whether there is any of the others.
macro_rules! any_more {
    ([$a:ident, $b:ident, $c:ident, $d:ident, $($more:ident),+] $stack:ident) => {
        false $(|| $stack.$more.is_some())+
    };
}

/// Calls a hook of every side that is there, each with a context of its own.
macro_rules! call_sides {
    ($list:tt $stack:ident.$by:ident, $cx:ident, |$side:ident, $own:ident| $call:expr) => {
        $crate::stack::for_sides!($list $stack.$by, |$side, owner, M| {
            let $own = &mut $cx.owned_by(owner);
            $call;
        })
    };
}

/// The same of a hook about a flow, but for mechanisms that leave it alone.
macro_rules! call_sides_of_flow {
    ($list:tt $stack:ident, $cx:ident, |$side:ident, $own:ident| $call:expr) => {
        $crate::stack::for_sides!($list $stack.as_deref_mut, |$side, owner, M| if !$cx.leaves(owner) {
            let $own = &mut $cx.owned_by(owner);
            $call;
        })
    };
}

pub(crate) use {any_more, call_sides, call_sides_of_flow, for_all, for_all_of, for_configured, for_sides, side_of};
