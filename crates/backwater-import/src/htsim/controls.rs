//! The controls of `htsim_uec`, and the options of its command line that set them.

use super::values::{NAME, scaled, whole};
use crate::error::ImportError;

/// The control of a sender's bytes in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// NSCC.
    Nscc,
    /// A constant window.
    Constant,
    /// The program's own variant of DCTCP.
    Dctcp,
}

/// How a sender chooses entropy values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balancing {
    /// Values with good answers, otherwise as `Bitmap`: the default.
    Mixed,
    /// One after the other, in a random order.
    Oblivious,
    /// As `Oblivious`, but values with a penalty are skipped.
    Bitmap,
    /// Values with good answers, out of a ring of eight; otherwise random ones.
    Reps,
    /// The same, out of an unbounded queue.
    Recycled,
}

impl Balancing {
    /// By the word after `-load_balancing_algo`.
    pub fn by_word(word: &str) -> Option<Balancing> {
        Some(match word {
            "mixed" => Balancing::Mixed,
            "oblivious" => Balancing::Oblivious,
            "bitmap" => Balancing::Bitmap,
            "reps" => Balancing::Reps,
            "reps_legacy" => Balancing::Recycled,
            _ => return None,
        })
    }

    /// Returns its value for `[ev] policy`.
    pub fn policy(self) -> &'static str {
        match self {
            Balancing::Mixed => "mixed",
            Balancing::Oblivious => "oblivious",
            Balancing::Bitmap => "bitmap",
            Balancing::Reps => "reps",
            Balancing::Recycled => "recycled",
        }
    }
}

/// Controls of `htsim_uec` from its command line; without options, those of its `main_uec.cpp`.
#[derive(Clone, Debug, PartialEq)]
pub struct Controls {
    /// The window at the sender, if there is one.
    pub sender: bool,
    /// The kind of window.
    pub window: Window,
    /// True if receivers grant credit.
    pub receiver: bool,
    /// `-cwnd`: the first window, in packets; 0 is the default.
    pub first_window: u64,
    /// `-target_q_delay`, in ps; 0 is the default.
    pub target_ps: u64,
    /// `-q`: packets of a queue.
    pub queue: Option<u64>,
    /// `-queue_size_bdp_factor`; 0 is the default.
    pub queue_factor: u64,
    /// `-ecn`: thresholds in packets.
    pub ecn: Option<(u64, u64)>,
    /// True if packets without memory are trimmed, not lost.
    pub trim: bool,
    /// `-trimsize`, in octets; without it the header.
    pub trim_size: Option<u64>,
    /// `-load_balancing_algo`.
    pub balancing: Balancing,
    /// True if the answer to a trimmed packet lowers the base round trip.
    pub rtt_from_nacks: bool,
    /// True if the sender finds losses by packets that arrive beyond them.
    pub sleek: bool,
}

impl Default for Controls {
    fn default() -> Controls {
        Controls {
            sender: true,
            window: Window::Nscc,
            receiver: false,
            first_window: 0,
            target_ps: 0,
            queue: None,
            queue_factor: 0,
            ecn: None,
            trim: true,
            trim_size: None,
            balancing: Balancing::Mixed,
            rtt_from_nacks: true,
            sleek: false,
        }
    }
}

impl Controls {
    /// Reads an option of the command line, with its values from `next`. Returns whether it is one of these.
    pub fn read<'a>(
        &mut self,
        option: &str,
        next: &mut impl FnMut() -> Result<&'a str, ImportError>,
    ) -> Result<bool, ImportError> {
        match option {
            "-sender_cc_only" => (self.sender, self.receiver) = (true, false),
            "-receiver_cc_only" => (self.sender, self.receiver) = (false, true),
            "-sender_cc" => self.sender = true,
            "-receiver_cc" => self.receiver = true,
            "-sender_cc_algo" => {
                self.sender = true;
                self.window = match next()? {
                    "nscc" => Window::Nscc,
                    "constant" => Window::Constant,
                    "dctcp" => Window::Dctcp,
                    other => return Err(unknown(option, other, "nscc, constant, dctcp")),
                };
            }
            "-load_balancing_algo" => {
                let word = next()?;
                let known = "mixed, oblivious, bitmap, reps, reps_legacy";
                self.balancing = Balancing::by_word(word).ok_or_else(|| unknown(option, word, known))?;
            }
            "-cwnd" => self.first_window = whole(next()?)?,
            "-target_q_delay" => self.target_ps = scaled(next()?, 1e6)?,
            "-q" => self.queue = Some(whole(next()?)?),
            "-queue_size_bdp_factor" => self.queue_factor = whole(next()?)?,
            "-ecn" => self.ecn = Some((whole(next()?)?, whole(next()?)?)),
            "-disable_trim" => self.trim = false,
            "-trimsize" => self.trim_size = Some(whole(next()?)?),
            "-disable_base_rtt_update_on_nack" => self.rtt_from_nacks = false,
            "-sleek" => self.sleek = true,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn unknown(option: &str, word: &str, known: &str) -> ImportError {
    ImportError::new("htsim_uec knows no such word").file(NAME).value(format!("{option} {word}")).hint(known)
}
