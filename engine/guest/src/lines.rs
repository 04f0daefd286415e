//! The lines between a guest's init and the process that started the guest. The first character is the kind of a
//! line.

/// A line to init.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// An order to start the node's process, with this first line of its input.
    Begin(String),
    /// A line for the node's process.
    Line(String),
    /// An order to end the node's process. The answer is [`Report::Ended`].
    End,
    /// A request for a sign of life. The answer is [`Report::Alive`].
    Answer,
}

/// A line from init.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The guest is ready.
    Ready {
        /// The agent's version.
        version: String,
        /// The kernel's release, as uname(2) reports it in the guest.
        kernel: String,
    },
    /// A line of the node's process.
    Line(String),
    /// The node's process has ended.
    Ended,
    /// Init is running.
    Alive,
}

impl Order {
    /// Returns the message as a line.
    pub fn encode(&self) -> String {
        match self {
            Self::Begin(line) => format!("+{line}\n"),
            Self::Line(line) => format!(">{line}\n"),
            Self::End => "-\n".into(),
            Self::Answer => "?\n".into(),
        }
    }

    /// Parses a line; returns `None` if it is not a valid one.
    pub fn decode(line: &str) -> Option<Self> {
        match line.split_at_checked(1)? {
            ("+", line) => Some(Self::Begin(line.to_owned())),
            (">", line) => Some(Self::Line(line.to_owned())),
            ("-", "") => Some(Self::End),
            ("?", "") => Some(Self::Answer),
            _ => None,
        }
    }
}

impl Report {
    /// Returns the message as a line.
    pub fn encode(&self) -> String {
        match self {
            Self::Ready { version, kernel } => format!("!{version} {kernel}\n"),
            Self::Line(line) => format!("<{line}\n"),
            Self::Ended => "-\n".into(),
            Self::Alive => "?\n".into(),
        }
    }

    /// Parses a line; returns `None` if it is not a valid one.
    pub fn decode(line: &str) -> Option<Self> {
        match line.split_at_checked(1)? {
            ("!", both) => {
                let (version, kernel) = both.split_once(' ')?;
                Some(Self::Ready { version: version.to_owned(), kernel: kernel.to_owned() })
            }
            ("<", line) => Some(Self::Line(line.to_owned())),
            ("-", "") => Some(Self::Ended),
            ("?", "") => Some(Self::Alive),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for order in [
            Order::Begin("{}".into()),
            Order::Line(">x".into()),
            Order::Line("".into()),
            Order::End,
            Order::Answer,
        ] {
            assert_eq!(Order::decode(order.encode().trim_end()), Some(order));
        }
        let ready = Report::Ready { version: "0.1.0".into(), kernel: "6.1 of mine".into() };
        for report in [ready, Report::Line("-".into()), Report::Ended, Report::Alive] {
            assert_eq!(Report::decode(report.encode().trim_end()), Some(report));
        }
        assert_eq!((Order::decode(""), Report::decode("é")), (None, None));
    }
}
