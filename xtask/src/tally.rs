//! Counts what the suites of `cargo test` say at their ends.

use std::fmt;

/// The sums over all suites so far.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    pub ignored: u64,
    pub filtered_out: u64,
    /// Names of failed tests, as far as their suites lived to say them.
    pub failures: Vec<String>,
    /// A suite has started and has not said its result.
    open: bool,
}

impl Tally {
    /// Takes note of one line of output.
    pub fn read(&mut self, line: &str) {
        let line = line.trim();
        if is_start(line) {
            self.close();
            self.open = true;
        } else if let Some(name) = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED")) {
            self.failures.push(name.to_owned());
        } else if let Some(result) = line.strip_prefix("test result: ") {
            self.open = false;
            for part in result.split([';', '.']) {
                let mut words = part.split_whitespace();
                let Some(count) = words.next().and_then(|word| word.parse::<u64>().ok()) else { continue };
                match words.collect::<Vec<_>>().as_slice() {
                    ["passed"] => self.passed += count,
                    ["failed"] => self.failed += count,
                    ["ignored"] => self.ignored += count,
                    ["filtered", "out"] => self.filtered_out += count,
                    _ => {}
                }
            }
        }
    }

    /// The output has ended, or a next suite starts: one that is still open has died, and counts as failed.
    pub fn close(&mut self) {
        self.failed += u64::from(self.open);
        self.open = false;
    }
}

/// The plain closing line.
impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// `running 3 tests`, the first line of a suite.
fn is_start(line: &str) -> bool {
    let mut words = line.split(' ');
    words.next() == Some("running")
        && words.next().is_some_and(|count| count.parse::<u64>().is_ok())
        && matches!(words.next(), Some("test" | "tests"))
        && words.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::Tally;

    fn tally(output: &str) -> Tally {
        let mut tally = Tally::default();
        output.lines().for_each(|line| tally.read(line));
        tally.close();
        tally
    }

    #[test]
    fn sums_over_suites() {
        let sums = tally(
            "running 3 tests\ntest a ... ok\ntest some::thing ... FAILED\n\n\
             test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s\n\
             running 5 tests\n\
             test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 12.34s\n",
        );
        let failures = vec!["some::thing".to_owned()];
        assert_eq!(sums, Tally { passed: 5, failed: 2, ignored: 1, filtered_out: 7, failures, open: false });
        assert_eq!(sums.to_string(), "5 passed, 2 failed");
    }

    #[test]
    fn a_suite_that_dies_has_failed() {
        let died = "running 3 tests\ntest a ... ok\n";
        let lived = "running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
        assert_eq!(tally(died).to_string(), "0 passed, 1 failed");
        assert_eq!(tally(&format!("{died}{lived}")).to_string(), "1 passed, 1 failed");
    }

    #[test]
    fn what_a_test_prints_is_no_suite() {
        assert_eq!(tally("running 3 tests of our own\nrunning late\n1 passed; 2 failed"), Tally::default());
    }
}
