extension URLEncodedFormEncoder {
    /// How keys are changed; each key of a nested member is changed on its own.
    public enum KeyEncoding: Sendable {
        /// Keeps keys as they are.
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
        /// The result of the closure, called with the key.
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

/// Returns a camel-case name in lower case with a separator between words; consecutive capitals
/// are one word.
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
