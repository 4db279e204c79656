#![no_main]

backwater_wire_fuzz::parser!(backwater_wire::sfc_pause::SfcPause);
