//! Tokens against those of Cassandra 5.0.6: `SELECT token(k)` of a blob key, recorded from a real one.

use super::*;

/// Keys in hexadecimal, of every length that a block and its tail can have, most bytes above 0x7f.
const RECORDED: &[(&str, i64)] = &[
    ("4d", -7912594386904524724),
    ("8cdd", -9004920783511506860),
    ("2ceb97", 6519686824338727953),
    ("9fe544eb", -3028880480197106773),
    ("ceb090dae8", -239596271797432950),
    ("cc29afc954fa", -4108895311480002375),
    ("27b3f4c59ec5ec", 1304061466861532990),
    ("3b6f7ee4e546d4e1", -2013368054861085715),
    ("95bb5dc8bd1bcb35e6", 204196171011208705),
    ("6a388d33864cba3bf5cf", 3270598009411064146),
    ("affab486c272b9e6fe8f63", -5046987928046566207),
    ("b294ba68f53db3efed95a04a", 5604005993689459011),
    ("d985a30eb6841ff509ae481ffb", 3388184134870010882),
    ("61322066f367a3e27b6c4fa4f7e5", -8609090034249153903),
    ("52adb697eac4cbbac3ae84fd96aec4", 2497399047043262092),
    ("c29105ea8ba967695b0989b036c97547", -26236873382016270),
    ("d824eec3bef5c4bad26f002ac72e498acc", 4318430772690419664),
    ("4fd3c8edba44c08cfdf4f29376fefab28206", -6164973992157226935),
    ("f86f92f7b30827c4b586a176fc01cfd5e000d6", -8519747801591201334),
    ("06c0e4db8c8d88610eb4e9c957af827afbaab5aa", 837559054682966171),
    ("edbe2ebc0ae28affdc97ccee10f9c8f2b99b8a1380", 4817625158216280618),
    ("9c62c29ac7f9d28eff7474addc81b4cf713772eae448", -9056501680461829600),
    ("8de69cd410bff128b36a9e19bea50fbf111f208b86c690", -737069924736169035),
    ("f380430478eb657e11522495ffacea9689c1f0be60cabef6", -6282025784765577738),
    ("81f2cb8c93f29bbca4c1a75e93fe33a78a9d9fea64e7502edd", 7331467325166462816),
    ("a1a4ded9abe2cdfbe3b8f98ae2a613c7d7d9e4adfdf2f941eef1", -7452350953753362935),
    ("2a1ba29cfd2151c6c179dfaea7abb881874a29ba81d04cd543ba01", -5948358829970109730),
    ("36d368f983f38ac3e3bf8be7a88366ac18c029acc2ab88c395c2a8e3", 2331995011616699087),
    ("f00dbbe4a59cd8878a9090bf9c939996d8b318f38732f897efc9d95ed8", 899387551695971295),
    ("c8ff94d3e60c9b57bbb2e6edc1d588a7d3bcc2644bdeb269f6e6cb837ceb", 9010263885169469882),
    ("3fa09950f78505fdc0b368bde9af1cc38fd7c3cde4aab1b4f7f8c05f8f9af8", 3339618261865410861),
    ("95cd95d824c05fd8e765283cebf9fb7eaaefeeedae17f7a440bb6baf1ab5aa68", 8635510274550517478),
    ("9ed11419cc618f95f512069e5e881b3ce783f995078196a17c192beb8d8f9faabc", -1838603096629752296),
    (
        "f89df48bcad5cfc6e7a4c48a8c2be11d69c596cbd2b05cb7a6fedfa7d8986dc74389ae87ea90832daede13da848ed1",
        -3655180107612782807,
    ),
    (
        "cca5c1f6ab06b127a3e2adbb49b84a88e98a5537f4a7fa67ee31ca8ee2a35f14b7a3acfdacb121b1c8d1a2afa9db9ed237f285b99f87b17a9a17eec79fbaf6c7",
        -8424535055179640619,
    ),
    ("666f6f", -2129773440516405919),
    ("80", -5284281814142962636),
    ("ffffffffffffffffffffffffffffffffff", -4128212798341382003),
    ("6b657930303030303030303031", 4915112980835346831),
];

#[test]
fn tokens_are_cassandras() {
    for &(hex, token) in RECORDED {
        let key: Vec<u8> = (0..hex.len() / 2)
            .map(|place| u8::from_str_radix(&hex[2 * place..2 * place + 2], 16).expect("hexadecimal digits"))
            .collect();
        assert_eq!(token_of(&key), Token(token), "{hex}");
    }
}

#[test]
fn a_composite_key_hashes_as_it_is_stored() {
    // (7 as int, 'x'): for each component a length, the bytes, a zero.
    let key = [0, 4, 0, 0, 0, 7, 0, 0, 1, b'x', 0];
    assert_eq!(token_of(&key), Token(6571373876230807724));
}

#[test]
fn the_empty_key_has_the_smallest_token() {
    assert_eq!(token_of(b""), Token::MIN);
}
