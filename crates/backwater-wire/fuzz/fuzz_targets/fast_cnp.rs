#![no_main]

backwater_wire_fuzz::parser!(backwater_wire::fast_cnp::OriginalDestination);
