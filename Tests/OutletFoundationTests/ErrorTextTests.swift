import Foundation
import OutletHTTP
import OutletObservation
import OutletPluginHost
import OutletSession
import OutletTransport
import Testing

/// Errors as programs that link full Foundation print them.
@Suite struct `Texts of errors in full Foundation` {
    private static let errors: [any Error & CustomStringConvertible] = [
        TransferError(code: .timedOut, reason: "no answer"), SessionError.explicitlyCancelled,
        ServerSentEventError.tooLarge(limit: 1), HARError.unreadable(path: "/a", reason: "why"),
        PluginDirectoryError.unreadable(path: "/a", reason: "why"),
        PluginLoadError.notAFile(path: "/a", kind: "a pipe"),
    ]

    @Test(arguments: errors.indices)
    func `localizedDescription is the description`(index: Int) {
        let error = Self.errors[index]
        #expect((error as any Error).localizedDescription == error.description)
    }
}
