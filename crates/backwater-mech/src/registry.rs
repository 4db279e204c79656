//! Every mechanism, one line each: the stacks of sides, the scenario's tables, lists, documentation and schema follow from it. The order is
//! the order in which hooks are called; a mechanism's place in it also names its random streams, so a new one comes last. A user's own
//! mechanisms follow ([`crate::own`]).

crate::own::with_own! {
    pause => crate::pause::Pause,
    ecn => crate::ecn::Marker,
    pfc => crate::pfc::Pfc,
    dcqcn => crate::dcqcn::Dcqcn,
    sfc => crate::sfc::Sfc,
    qcn => crate::qcn::Qcn,
    bcn => crate::bcn::Bcn,
    spray => crate::spray::Spray,
    flowlet => crate::flowlet::Flowlet,
    ci => crate::ci::CongestionIsolation,
    dctcp => crate::dctcp::Dctcp,
    swift => crate::swift::Swift,
    timely => crate::timely::Timely,
    hpcc => crate::hpcc::Hpcc,
    trim => crate::trim::Trim,
    ev => crate::ev::EntropyValues,
    nscc => crate::nscc::Nscc,
    rccc => crate::rccc::Rccc,
    cbfc => crate::cbfc::Cbfc,
    llr => crate::llr::Llr,
    bbr => crate::bbr::Bbr,
    prototype => crate::prototype::Prototype,
    sfc_tofino2 => crate::sfc_tofino2::SfcTofino2,
    fast_cnp => crate::fast_cnp::FastCnp,
    csig => crate::csig::Csig,
    mrc => crate::mrc::Mrc,
}
