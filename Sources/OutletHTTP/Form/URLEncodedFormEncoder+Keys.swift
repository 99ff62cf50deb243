extension URLEncodedFormEncoder {
    /// How each key is changed, those of nested members one by one.
    public enum KeyEncoding: Sendable {
        /// Not at all.
        case useDefaultKeys
        /// `oneTwoURLThree` becomes `one_two_url_three`.
        case convertToSnakeCase
        /// `oneTwoURLThree` becomes `one-two-url-three`.
        case convertToKebabCase
        /// `oneTwo` becomes `OneTwo`.
        case capitalized
        /// `oneTwo` becomes `ONETWO`.
        case uppercased
        /// `oneTwo` becomes `onetwo`.
        case lowercased
        /// As the closure says.
        case custom(@Sendable (String) -> String)

        func encode(_ key: String) -> String {
            switch self {
            case .useDefaultKeys: key
            case .convertToSnakeCase: separatingWords(of: key, by: "_")
            case .convertToKebabCase: separatingWords(of: key, by: "-")
            case .capitalized: key.prefix(1).uppercased() + key.dropFirst()  // text: ours
            case .uppercased: key.uppercased()  // text: ours
            case .lowercased: key.lowercased()  // text: ours
            case .custom(let encoding): encoding(key)
            }
        }
    }
}

/// A camel-case name in lower case, words apart; a run of capitals is one word.
private func separatingWords(of key: String, by separator: Character) -> String {
    var words = ""
    var previous: Character?
    var index = key.startIndex
    while index < key.endIndex {
        let character = key[index]
        let next = key.index(after: index)
        if character.isUppercase, let previous {  // text: ours
            let endsCapitals = next < key.endIndex && key[next].isLowercase  // text: ours
            if previous.isUppercase ? endsCapitals : previous != separator {  // text: ours
                words.append(separator)
            }
        }
        words += character.lowercased()  // text: ours
        previous = character
        index = next
    }
    return words
}
