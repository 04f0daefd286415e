//! The lines that go between a guest's init and whoever started the guest. The first character says what a line is.

/// A line to init.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Start the node's process, with this first line of its input.
    Begin(String),
    /// A line for the node's process.
    Line(String),
    /// End the node's process. Answered by [`Told::Ended`].
    End,
}

/// A line of init's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// The guest is ready; the kernel's release, as uname(2) tells it there.
    Ready(String),
    /// A line of the node's process.
    Line(String),
    /// The node's process has ended.
    Ended,
}

impl Order {
    /// Returns it as a line.
    pub fn encode(&self) -> String {
        match self {
            Self::Begin(line) => format!("+{line}\n"),
            Self::Line(line) => format!(">{line}\n"),
            Self::End => "-\n".into(),
        }
    }

    /// Reads a line; `None` where it is none of these.
    pub fn decode(line: &str) -> Option<Self> {
        match line.split_at_checked(1)? {
            ("+", line) => Some(Self::Begin(line.to_owned())),
            (">", line) => Some(Self::Line(line.to_owned())),
            ("-", "") => Some(Self::End),
            _ => None,
        }
    }
}

impl Told {
    /// Returns it as a line.
    pub fn encode(&self) -> String {
        match self {
            Self::Ready(kernel) => format!("!{kernel}\n"),
            Self::Line(line) => format!("<{line}\n"),
            Self::Ended => "-\n".into(),
        }
    }

    /// Reads a line; `None` where it is none of these.
    pub fn decode(line: &str) -> Option<Self> {
        match line.split_at_checked(1)? {
            ("!", kernel) => Some(Self::Ready(kernel.to_owned())),
            ("<", line) => Some(Self::Line(line.to_owned())),
            ("-", "") => Some(Self::Ended),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for order in
            [Order::Begin("{}".into()), Order::Line(">x".into()), Order::Line(String::new()), Order::End]
        {
            assert_eq!(Order::decode(order.encode().trim_end()), Some(order));
        }
        for told in [Told::Ready("6.1".into()), Told::Line("-".into()), Told::Ended] {
            assert_eq!(Told::decode(told.encode().trim_end()), Some(told));
        }
        assert_eq!((Order::decode(""), Told::decode("é")), (None, None));
    }
}
