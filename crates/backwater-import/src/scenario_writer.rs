//! The text of a scenario, with comments.

/// The text of a scenario under construction.
#[derive(Clone, Debug, Default)]
pub struct ScenarioWriter {
    text: String,
}

/// Comments are wrapped at this width.
const WIDTH: usize = 118;

impl ScenarioWriter {
    /// An empty one.
    pub fn new() -> ScenarioWriter {
        ScenarioWriter::default()
    }

    /// A comment on separate lines.
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

    /// The head of a table, such as `[topology]` or `[[flow]]`, after an empty line.
    pub fn head(&mut self, head: &str) -> &mut ScenarioWriter {
        self.gap().line(head)
    }

    /// An empty line, unless the text already ends with one.
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

    /// A key and its value, followed by a comment.
    pub fn key_because(&mut self, key: &str, value: impl Into<toml::Value>, remark: &str) -> &mut ScenarioWriter {
        let value = value.into();
        self.line(&format!("{key} = {value}  # {}", printable(remark)))
    }

    /// The text of the caller's scenario, which has its own title, if any.
    pub fn fabric(&mut self, name: &str, text: &str) -> &mut ScenarioWriter {
        self.gap().remark(&format!("From here on: {name}")).verbatim(text)
    }

    /// Text of a scenario, unchanged.
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

/// Names from a file in a form for comments and titles: TOML forbids control characters in comments, and a line end would end them.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names come from files: whatever their content, a comment stays a comment.
    #[test]
    fn a_remark_stays_a_remark() {
        let mut writer = ScenarioWriter::new();
        writer.remark("x\u{1b}[31m\n[evil]\r\na = 1").key_because("b", 2, "y\u{7}\n[worse]\nc = 3");
        assert_eq!(writer.into_text(), "# x [31m\n# [evil]\n# a = 1\nb = 2  # y  [worse] c = 3\n");
    }
}
