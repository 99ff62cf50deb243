import CCurl
import OutletCompression
import OutletHTTP
import OutletTransport

/// The decoder of one body and its position.
final class BodyDecoder {
    let decoder: ContentDecoder
    /// The codings as in the server's `Content-Encoding`.
    let codings: String
    /// The number of coded bytes that have been decoded.
    var decoded: Int64 = 0
    /// How many bytes at the start of libcurl's next piece were decoded before a pause.
    var skip = 0

    init(_ decoder: ContentDecoder, codings: String) {
        self.decoder = decoder
        self.codings = codings
    }
}

/// Decodes content codings (RFC 9110 §8.4).
///
/// libcurl could do this, but does not report whether a coded body was complete.
extension CurlTransfer {
    private static let contentEncoding: FieldNames = ["Content-Encoding"]

    /// Makes the decoder for a response's body, at its first bytes, if `Content-Encoding` names
    /// codings.
    ///
    /// A partial response (206) is a part of the coded content, and is not decoded (RFC 9110
    /// §14.1.2).
    ///
    /// - Returns: Whether the transfer continues.
    func findDecoder() -> Bool {
        loop?.assertOnLoop()
        guard decoder == nil, let headers = response?.headers,
            headers.containsAny(of: Self.contentEncoding), response?.statusCode != 206,
            let first = headers.value(for: "Content-Encoding")
        else { return true }
        let fields = headers.values(for: "Content-Encoding")
        do throws(ContentDecoder.Failure) {
            decoder = try ContentDecoder.make(fields).map {
                BodyDecoder($0, codings: fields.count > 1 ? fields.joined(separator: ", ") : first)
            }
            return true
        } catch {
            return fail(brokenCoding(error))
        }
    }

    /// Decodes a piece of the body and delivers it.
    ///
    /// - Returns: What the write callback returns to libcurl.
    func decode(
        _ bytes: UnsafeRawBufferPointer, _ body: BodyDecoder, _ easy: EasyHandle, _ loop: EventLoop
    ) -> Int {
        loop.assertOnLoop()
        // After a pause libcurl delivers the same piece again, from its start.
        let known = min(body.skip, bytes.count)
        body.skip -= known
        var input = UnsafeRawBufferPointer(rebasing: bytes[known...])
        do throws(ContentDecoder.Failure) {
            var steps = 0
            while true {
                let before = input.count
                let step = try body.decoder.decode(&input)
                body.decoded += Int64(before - input.count)
                var size = received
                switch step {
                case .consumed: return bytes.count
                case .piece(let piece): size += Int64(piece.count)
                case .passed: break
                }
                if let bomb = bomb(size, body, loop.settings.configuration) {
                    return fail(bomb) ? bytes.count : refused
                }
                if case .piece(let piece) = step {
                    guard deliver(piece, easy, loop) else { return refused }
                }
                // A few bytes may take minutes to decode.
                steps += 1
                if steps & 7 == 0 { loop.limitTurn(of: self) }
                // The rest of the piece may decode to a thousand times its size, so a pause applies
                // at once.
                if isPaused {
                    body.skip = bytes.count - input.count
                    return Int(CURL_WRITEFUNC_PAUSE)
                }
            }
        } catch {
            return fail(brokenCoding(error)) ? bytes.count : refused
        }
    }

    private func brokenCoding(_ failure: ContentDecoder.Failure) -> TransferError {
        TransferError(
            code: failure.isExcess ? .decompressionLimitExceeded : .cannotDecodeContentData,
            stage: .receiving, host: address?.host,
            reason: failure.isExcess
                ? "a decompression bomb: \(failure)" : "the body's encoding is broken: \(failure)",
            advice: "send Accept-Encoding: identity to get it as it is")
    }

    /// The error of a body that ended before its coding did; `nil` if the coding is complete.
    var unfinishedCoding: TransferError? {
        guard let decoder, !decoder.decoder.isAtEnd, let response else { return nil }
        let isFramed =
            response.httpVersion == "HTTP/2" || response.headers["Content-Length"] != nil
            || response.headers["Transfer-Encoding"] != nil
        return TransferError(
            code: isFramed ? .cannotDecodeContentData : .networkConnectionLost, stage: .receiving,
            host: address?.host,
            reason: (isFramed
                ? "the body's encoding is broken: " : "the server closed the connection: ")
                + "\(Redaction.standard.quote(decoder.codings)): not at its end after \(decoder.decoded) bytes",
            advice: isFramed ? "send Accept-Encoding: identity to get it as it is" : "")
    }

    /// Returns the error of a body whose size exceeds the limits, after decoding or between two
    /// codings; `nil` if it does not.
    ///
    /// - Parameter size: The decoded size so far, in bytes.
    private func bomb(
        _ size: Int64, _ body: BodyDecoder, _ configuration: TransportConfiguration
    ) -> TransferError? {
        func error(_ reason: String, _ advice: String) -> TransferError {
            TransferError(
                code: .decompressionLimitExceeded, stage: .receiving, host: address?.host,
                reason: reason, advice: advice)
        }
        let limit = configuration.maximumDecompressedSize
        // A coding makes some bodies larger.
        let (double, isHuge) = limit.multipliedReportingOverflow(by: 2)
        let isLarger = !isHuge && body.decoder.passed - Int64(ContentDecoder.pieceSize) > double
        if size > limit || isLarger {
            return error(
                "the body decodes to more than \(limit) bytes",
                "raise maximumDecompressedSize")
        }
        let ratio = configuration.maximumDecompressionRatio
        let largest = max(size, body.decoder.passed)
        guard ratio > 0, largest > configuration.decompressionRatioExemptSize else { return nil }
        guard Double(largest) > Double(body.decoded) * ratio else { return nil }
        let what = largest > size ? "between the body's codings" : "of the body"
        return error(
            "a decompression bomb: \(largest) bytes \(what) were \(body.decoded) on the wire, and "
                + "above \(configuration.decompressionRatioExemptSize) bytes no more than \(ratio) "
                + "for each are decoded",
            "if this server is to be trusted, raise maximumDecompressionRatio")
    }
}
