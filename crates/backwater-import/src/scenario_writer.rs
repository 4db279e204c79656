//! The text of a scenario, with remarks.

/// The text of a scenario as it grows.
#[derive(Clone, Debug, Default)]
pub struct ScenarioWriter {
    text: String,
}

/// Where remarks are wrapped.
const WIDTH: usize = 118;

impl ScenarioWriter {
    /// An empty one.
    pub fn new() -> ScenarioWriter {
        ScenarioWriter::default()
    }

    /// A remark in lines of its own.
    pub fn remark(&mut self, text: &str) -> &mut ScenarioWriter {
        for paragraph in text.lines() {
            let mut line = String::from("#");
            for word in printable(paragraph).split_whitespace() {
                if line.len() > 1 && line.len() + 1 + word.len() > WIDTH {
                    self.line(&line);
                    line = String::from("#");
                }
                line.push(' ');
                line.push_str(word);
            }
            self.line(&line);
        }
        self
    }

    /// The head of a table, as `[topology]` or `[[flow]]`, after an empty line.
    pub fn head(&mut self, head: &str) -> &mut ScenarioWriter {
        self.gap().line(head)
    }

    /// An empty line, unless there is one already.
    pub fn gap(&mut self) -> &mut ScenarioWriter {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
        self
    }

    /// A key and its value.
    pub fn key(&mut self, key: &str, value: impl Into<toml::Value>) -> &mut ScenarioWriter {
        let value = value.into();
        self.line(&format!("{key} = {value}"))
    }

    /// A key and a whole number.
    pub fn number(&mut self, key: &str, value: u64) -> &mut ScenarioWriter {
        self.line(&format!("{key} = {value}"))
    }

    /// A key and its value, with a remark behind it.
    pub fn key_because(&mut self, key: &str, value: impl Into<toml::Value>, remark: &str) -> &mut ScenarioWriter {
        let value = value.into();
        self.line(&format!("{key} = {value}  # {}", printable(remark)))
    }

    /// The text of the scenario that the caller gives, which has a title of its own, if any.
    pub fn fabric(&mut self, name: &str, text: &str) -> &mut ScenarioWriter {
        self.gap().remark(&format!("From here on: {name}")).verbatim(text)
    }

    /// Text of a scenario as it is.
    pub fn verbatim(&mut self, text: &str) -> &mut ScenarioWriter {
        self.text.push_str(text);
        if !text.ends_with('\n') {
            self.text.push('\n');
        }
        self
    }

    fn line(&mut self, line: &str) -> &mut ScenarioWriter {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
        self
    }

    /// All of it.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// Names of a file as a remark or a title may have them: TOML forbids control characters in remarks, and a line would end it.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names come from files: whatever they hold, a remark stays a remark.
    #[test]
    fn a_remark_stays_a_remark() {
        let mut writer = ScenarioWriter::new();
        writer.remark("x\u{1b}[31m\n[evil]\r\na = 1").key_because("b", 2, "y\u{7}\n[worse]\nc = 3");
        assert_eq!(writer.into_text(), "# x [31m\n# [evil]\n# a = 1\nb = 2  # y  [worse] c = 3\n");
    }
}
