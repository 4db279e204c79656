//! Loops over the registry's mechanisms. Each mechanism has types of its own, so a macro unrolls a loop; `$list` is the registry's list in
//! brackets.

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

/// The same with the number of each.
macro_rules! for_numbered {
    ([$($name:ident => $mechanism:path),+] $config:ident, |$scoped:ident, $owner:ident, $of:ident| $do:expr) => {
        $(if let Some($scoped) = $config.$name.as_ref() {
            #[allow(dead_code, reason = "not every loop asks for the type")]
            type $of = $mechanism;
            let $owner = MechanismId(Number::$name as u8);
            $do;
        })+
    };
}

pub(crate) use {for_all, for_all_of, for_configured, for_numbered};
