import FoundationEssentials

/// A parser of bytes from elsewhere, and the rules that hold whatever the bytes are.
///
/// The fuzzer (`make fuzz`) and the tests run the same functions: the one with bytes that it makes
/// up, the others with those in `Corpora`.
struct FuzzTarget: Sendable {
    /// Also the name of its directory in `Corpora`.
    let name: String
    /// Parses, and throws ``Broken`` for a rule that does not hold; any other end is a fault as well.
    let run: @Sendable (Data) throws -> Void

    /// A rule does not hold.
    struct Broken: Error, CustomStringConvertible {
        let description: String
    }

    init(_ name: String, _ run: @escaping @Sendable (Data) throws -> Void) {
        self.name = name
        self.run = run
    }

    static let all: [FuzzTarget] =
        fieldTargets + cookieTargets + fileTargets + bodyTargets + pluginTargets
}

/// Throws unless a rule holds.
func expect(_ holds: Bool, _ rule: @autoclosure () -> String) throws {
    guard holds else { throw FuzzTarget.Broken(description: rule()) }
}

extension Data {
    /// The bytes as text from a peer becomes it: what is not UTF-8 is replaced.
    var text: String { String(decoding: self, as: UTF8.self) }
}
