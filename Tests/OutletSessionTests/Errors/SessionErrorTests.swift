import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport
import Testing

private struct Numbered: Error, Equatable { var number: Int }
private struct AlsoNumbered: Error, Equatable { var number: Int }
private struct Said: Error { var text: String }
private final class Object: Error {}

/// Tests the equality of errors.
@Suite struct SessionErrorTests {
    private let url = URL(filePath: "/a")
    private let other = URL(filePath: "/b")

    @Test func `texts of a server in errors are short and on one line`() throws {
        let text = String(repeating: "x", count: 10_000) + "\r\n\u{1B}[2J"
        let words = "\u{1B}[2J\r\n" + text
        let key = Data(#"{"\#(String(repeating: "k", count: 10_000))": "a"}"#.utf8)
        let decoding = #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([String: Int].self, from: key)
        }
        let errors: [any Error] = [
            SessionError.responseValidationFailed(
                reason: .unacceptableContentType(
                    acceptableContentTypes: ["a"], responseContentType: words)),
            SessionError.responseSerializationFailed(
                reason: .decodingFailed(error: try #require(decoding))),
            ServerSentEventError.notAnEventStream(statusCode: 200, contentType: words),
        ]
        for error in errors {
            let shown = "\(error)"
            #expect(shown.utf8.count < 1200)
            #expect(!shown.utf8.contains { $0 < 0x20 })
        }
    }

    /// Errors of all cases, each different from all others.
    private var all: [SessionError] {
        let one = Numbered(number: 1)
        return [
            .createUploadableFailed(error: one),
            .createUploadableFailed(error: Numbered(number: 2)),
            .createUploadableFailed(error: AlsoNumbered(number: 1)),
            .createURLRequestFailed(error: one),
            .downloadedFileMoveFailed(error: one, source: url, destination: url),
            .downloadedFileMoveFailed(error: one, source: url, destination: other),
            .explicitlyCancelled, .invalidURL(url: "file:///a"), .invalidURL(url: url),
            .multipartEncodingFailed(reason: .boundaryInvalid("a")),
            .multipartEncodingFailed(reason: .bodyPartHeaderInvalid(error: .invalidMethod("a"))),
            .multipartEncodingFailed(reason: .bodyPartURLInvalid(url: url)),
            .multipartEncodingFailed(reason: .bodyPartURLInvalid(url: other)),
            .multipartEncodingFailed(reason: .bodyPartFilenameInvalid(in: url)),
            .multipartEncodingFailed(
                reason: .bodyPartFileNotReachableWithError(atURL: url, error: one)),
            .multipartEncodingFailed(reason: .inputStreamReadFailed(error: one)),
            .parameterEncodingFailed(reason: .missingURL),
            .parameterEncodingFailed(reason: .jsonEncodingFailed(error: one)),
            .parameterEncodingFailed(reason: .customEncodingFailed(error: one)),
            .parameterEncoderFailed(reason: .missingRequiredComponent(.url)),
            .parameterEncoderFailed(
                reason: .missingRequiredComponent(.httpMethod(rawValue: "GET"))),
            .parameterEncoderFailed(reason: .encoderFailed(error: one)),
            .requestAdaptationFailed(error: one),
            .requestRetryFailed(retryError: one, originalError: one),
            .requestRetryFailed(retryError: one, originalError: AlsoNumbered(number: 1)),
            .responseValidationFailed(reason: .dataFileNil),
            .responseValidationFailed(reason: .dataFileReadFailed(at: url)),
            .responseValidationFailed(reason: .missingContentType(acceptableContentTypes: ["a"])),
            .responseValidationFailed(
                reason: .unacceptableContentType(
                    acceptableContentTypes: ["a"], responseContentType: "b")),
            .responseValidationFailed(reason: .unacceptableStatusCode(code: 404)),
            .responseValidationFailed(reason: .customValidationFailed(error: one)),
            .responseSerializationFailed(reason: .inputDataNilOrZeroLength),
            .responseSerializationFailed(reason: .inputFileNil),
            .responseSerializationFailed(reason: .inputFileReadFailed(at: url)),
            .responseSerializationFailed(reason: .stringSerializationFailed(encoding: .utf8)),
            .responseSerializationFailed(reason: .decodingFailed(error: one)),
            .responseSerializationFailed(reason: .jsonSerializationFailed(error: one)),
            .responseSerializationFailed(reason: .invalidEmptyResponse(type: "Int")),
            .serverTrustEvaluationFailed(reason: .noRequiredEvaluator(host: "a")),
            .serverTrustEvaluationFailed(reason: .noCertificatesFound),
            .serverTrustEvaluationFailed(reason: .trustEvaluationFailed(error: nil)),
            .serverTrustEvaluationFailed(reason: .trustEvaluationFailed(error: one)),
            .serverTrustEvaluationFailed(reason: .customEvaluationFailed(error: one)),
            .sessionDeinitialized, .sessionInvalidated(error: nil),
            .sessionInvalidated(error: one),
            .sessionTaskFailed(error: TransferError(code: .timedOut, reason: "late")),
            .sessionTaskFailed(error: TransferError(code: .badURL, reason: "late")),
            .urlRequestValidationFailed(reason: .bodyDataInGETRequest(Data([1]))),
        ]
    }

    @Test func `an error is equal only to the same error`() {
        // `all` makes new values at each call, so that identity cannot make them equal.
        for (index, error) in all.enumerated() {
            #expect(all.firstIndex(of: error) == index && all.lastIndex(of: error) == index)
        }
    }

    @Test func `underlying errors that are not Equatable are compared by identity`() {
        #expect(
            SessionError.sessionTaskFailed(error: Said(text: "a"))
                != .sessionTaskFailed(error: Said(text: "a")))
        let object = Object()
        #expect(
            SessionError.sessionTaskFailed(error: object) == .sessionTaskFailed(error: object))
        #expect(
            SessionError.sessionTaskFailed(error: object) != .sessionTaskFailed(error: Object()))
    }

    @Test func `an error about a file has its URL, also if it is nested`() {
        let inner = SessionError.multipartEncodingFailed(reason: .bodyPartURLInvalid(url: url))
        #expect(inner.url == url)
        #expect(SessionError.createUploadableFailed(error: inner).url == url)
        #expect(
            SessionError.requestRetryFailed(retryError: Said(text: ""), originalError: inner).url
                == url)
        #expect(
            SessionError.responseSerializationFailed(reason: .inputFileReadFailed(at: other)).url
                == other)
        #expect(
            SessionError.responseValidationFailed(reason: .dataFileReadFailed(at: other)).url
                == other)
        #expect(SessionError.invalidURL(url: "a").url == nil)
        #expect(SessionError.explicitlyCancelled.url == nil)
    }

    @Test func `the text of an error has at most 500 bytes of a URL`() throws {
        let long = "http://a.test/" + String(repeating: "x", count: 100_000)
        let request = HTTPRequest(url: URL(string: long))
        let failed = TransferError(code: .timedOut, reason: "late").naming(request)
        let text = "http://a.test/\(String(repeating: "x", count: 486))…"
        #expect(failed.description == "GET \(text): late")
        #expect("\(SessionError.invalidURL(url: long))" == "URL is not valid: \(text)")
        let scheme = TransferError(
            try #require(throws: OriginError.self) {
                _ = try Origin(
                    try #require(URL(string: String(repeating: "s", count: 1000) + "://a")))
            })
        #expect(scheme.description.utf8.count < 200)
    }

    @Test func `the text of a file's error is the system's, without dictionaries`() {
        let full = SessionError.downloadedFileMoveFailed(
            error: CocoaError(.fileWriteOutOfSpace), source: url, destination: other)
        #expect(
            "\(full)"
                == "The downloaded file could not be moved from /a to /b: No space left on device")
        let part = SessionError.multipartEncodingFailed(
            reason: .bodyPartFileSizeQueryFailedWithError(
                forURL: url, error: CocoaError(.fileReadNoPermission)))
        #expect(
            "\(part)" == "Multipart encoding failed: /a: its size cannot be read: Permission denied"
        )
    }
}
