#![no_main]

backwater_wire_fuzz::parser!(backwater_wire::uet::Uet);
