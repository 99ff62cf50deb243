import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport
import Testing

@testable import OutletCLI

/// The exit code and the message for a failed request.
@Suite struct FailureMappingTests {
    private struct Refused: Error, CustomStringConvertible {
        let description = "the quota is used up"
    }

    private let request = HTTPRequest(url: URL(string: "http://ada:geheim@a.test/x?token=geheim"))

    @Test(arguments: [
        (TransferError.Code.timedOut, ExitCode.timeout),
        (.httpTooManyRedirects, .tooManyRedirects), (.cancelled, .interrupted),
        (.networkConnectionLost, .failure), (.cannotFindHost, .failure),
    ])
    func `each failure of a transfer has its exit code`(
        code: TransferError.Code, exitCode: ExitCode
    ) {
        let error = TransferError(code: code, stage: .receiving, reason: "why", advice: "what")
        let failure = Exchange.Failure(.sessionTaskFailed(error: error), request: request)
        #expect(failure.error.exitCode == exitCode)
        #expect(failure.code == (exitCode == .interrupted ? "cancelled" : code.rawValue))
        #expect(!failure.error.message.containsBytes(of: "geheim"))
    }

    @Test func `an adaptation or retry failure has the exit code of a plugin failure`() {
        let errors: [SessionError] = [
            .requestAdaptationFailed(error: Refused()),
            .requestRetryFailed(retryError: Refused(), originalError: Refused()),
        ]
        for error in errors {
            let failure = Exchange.Failure(error, request: request)
            #expect(failure.error.exitCode == .plugin && failure.code == "pluginFailed")
            #expect(failure.error.message.containsBytes(of: "the quota is used up"))
        }
    }
}
