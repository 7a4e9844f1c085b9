//! `num_tokens` and `initial_token`: the tokens of a node that has none yet.

use topology::{HostId, Token, token_of};

use super::ConfigError;

/// Tokens of a node, as in Cassandra.
const COUNT: u16 = 16;
/// The most tokens of a node, as in Cassandra.
pub(super) const COUNT_MAX: u16 = 1536;

/// The tokens that a node chooses when it joins; one that is alone has them at each start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tokens {
    /// So many, at random; those of a node that is alone follow from its host id.
    Count(u16),
    /// These, ascending.
    Given(Vec<Token>),
}

impl Tokens {
    /// From the values of both keys. `count` is within its range.
    pub(super) fn of(count: Option<u16>, given: Option<&str>) -> Result<Tokens, ConfigError> {
        let Some(given) = given.filter(|given| !given.trim().is_empty()) else {
            return Ok(Tokens::Count(count.unwrap_or(COUNT)));
        };
        let wrong = |reason: String| ConfigError::InitialToken { reason };
        let parse = |text: &str| {
            let text = text.trim();
            text.parse()
                .map(Token)
                .map_err(|_| wrong(format!("'{text}' is not a token: a number from -2^63 to 2^63 - 1")))
        };
        let mut tokens = given.split(',').map(parse).collect::<Result<Vec<Token>, _>>()?;
        tokens.sort_unstable();
        if let Some(twice) = tokens.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(wrong(format!("{} is named twice", twice[0])));
        }
        match count {
            Some(count) if usize::from(count) != tokens.len() => {
                Err(wrong(format!("{} tokens are named, and num_tokens is {count}", tokens.len())))
            }
            _ if tokens.len() > usize::from(COUNT_MAX) => {
                Err(wrong(format!("{} tokens are named, and a node has {COUNT_MAX} at most", tokens.len())))
            }
            _ => Ok(Tokens::Given(tokens)),
        }
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        match self {
            Tokens::Count(count) => usize::from(*count),
            Tokens::Given(tokens) => tokens.len(),
        }
    }

    /// The tokens of a node that joins, by random numbers.
    pub fn at_random(&self, random: impl FnMut() -> u64) -> Vec<Token> {
        match self {
            Tokens::Count(count) => {
                std::iter::repeat_with(random).take(usize::from(*count)).map(|number| Token(number as i64)).collect()
            }
            Tokens::Given(tokens) => tokens.clone(),
        }
    }

    /// The tokens of a node that is alone, ascending. They follow from its identity and need no record, so they are the same at each start, and a start may have
    /// another number of them: it owns everything by any.
    pub fn of_node_alone(&self, host_id: HostId) -> Vec<Token> {
        let nth = |number: u16| match number {
            0 => token_of(&host_id.0),
            number => token_of(&[&host_id.0[..], &number.to_be_bytes()].concat()),
        };
        match self {
            Tokens::Count(count) => {
                let mut tokens: Vec<Token> = (0..*count).map(nth).collect();
                tokens.sort_unstable();
                tokens.dedup();
                tokens
            }
            Tokens::Given(tokens) => tokens.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(count: Option<u16>, given: &str) -> String {
        Tokens::of(count, Some(given)).expect_err("it is refused").to_string()
    }

    #[test]
    fn tokens_are_counted_or_given() {
        assert_eq!(Tokens::of(None, None).unwrap(), Tokens::Count(16));
        assert_eq!(Tokens::of(Some(4), Some(" ")).unwrap(), Tokens::Count(4));
        let given = Tokens::Given(vec![Token(-9), Token(0), Token(i64::MAX)]);
        assert_eq!(Tokens::of(Some(3), Some("0, -9,9223372036854775807")).unwrap(), given);
        assert_eq!(Tokens::of(None, Some("7")).unwrap(), Tokens::Given(vec![Token(7)]));
    }

    #[test]
    fn tokens_that_cannot_be_are_refused() {
        assert_eq!(error(None, "1,x"), "cannot use initial_token: 'x' is not a token: a number from -2^63 to 2^63 - 1");
        assert_eq!(error(None, "1,2,1"), "cannot use initial_token: 1 is named twice");
        assert_eq!(error(Some(16), "1,2"), "cannot use initial_token: 2 tokens are named, and num_tokens is 16");
        assert!(error(None, "9223372036854775808").contains("is not a token"));
    }

    #[test]
    fn a_node_alone_has_the_same_tokens_at_each_start() {
        let host_id = HostId([7; 16]);
        let sixteen = Tokens::Count(16).of_node_alone(host_id);
        assert!(sixteen.len() == 16 && sixteen.is_sorted() && sixteen == Tokens::Count(16).of_node_alone(host_id));
        assert_eq!(Tokens::Count(1).of_node_alone(host_id), [token_of(&host_id.0)]);
        assert!(sixteen.contains(&token_of(&host_id.0)));
        assert_ne!(sixteen, Tokens::Count(16).of_node_alone(HostId([8; 16])));
    }
}
