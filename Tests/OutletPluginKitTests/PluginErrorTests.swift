import FoundationEssentials
import Testing

@testable import OutletPluginKit

/// What users see of the errors that a plugin throws.
@Suite struct PluginErrorTests {
    private struct Refused: Error { var secret = "s3cret" }

    private enum Failure: Error {
        case plain
        case pair(user: String, secret: String)
        case single(String)
    }

    private final class Kept: Error { let secret = "s3cret" }

    private struct Described: Error, CustomStringConvertible {
        var secret = "s3cret"
        var description: String { "described" }
    }

    private struct Localized: LocalizedError {
        var secret = "s3cret"
        var errorDescription: String? { "localized" }
    }

    private struct Reflected: Error, CustomReflectable {
        var customMirror: Mirror {
            Mirror(self, children: ["s3cret": 1], displayStyle: .enum)
        }
    }

    static let errors: [(any Error, String)] = [
        (PluginError("the token is old"), "the token is old"),
        (Refused(), "Refused"), (Kept(), "Kept"), (Failure.plain, "Failure.plain"),
        (Failure.pair(user: "me", secret: "s3cret"), "Failure.pair"),
        (Failure.single("s3cret"), "Failure.single"), (Described(), "described"),
        (Localized(), "localized"), (Reflected(), "Reflected"),
        (CancellationError(), "CancellationError"),
        (
            DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "s3cret")),
            "DecodingError.dataCorrupted"
        ),
    ]

    @Test(arguments: errors.indices)
    func `of an error without a text of its own, only the names of type and case are shown`(
        index: Int
    ) {
        let (error, text) = Self.errors[index]
        #expect(PluginError.words(of: error).message == text)
    }
}
