//! The integration tests of scenarios and runs, in one binary: a binary of its own for each file would compile the
//! stage each time.

mod bbr;
mod capture;
mod cbfc;
mod cells;
mod confined;
mod defaults;
mod errors;
mod fabrics;
mod fuzz;
mod graphs;
mod htsim;
mod independence;
mod jobs;
mod keys;
mod links;
mod live;
mod llr;
mod load;
mod names;
mod nics;
mod ns3;
mod promises;
mod reference;
mod scenarios;
mod series;
mod settings;
mod sfc;
mod soak;
mod threads;
mod thresholds;
mod uec;
mod waits;
