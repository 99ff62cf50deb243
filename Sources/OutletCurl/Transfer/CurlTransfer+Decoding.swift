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
    /// - Returns: Whether the transfer continues.
    func findDecoder() -> Bool {
        loop?.assertOnLoop()
        guard decoder == nil, let headers = response?.headers,
            headers.containsAny(of: Self.contentEncoding),
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
            while true {
                let before = input.count
                let piece = try body.decoder.decode(&input)
                body.decoded += Int64(before - input.count)
                guard !piece.isEmpty else { return bytes.count }
                if let bomb = bomb(received + Int64(piece.count), body, loop.settings.configuration)
                {
                    return fail(bomb) ? bytes.count : refused
                }
                guard deliver(piece, easy, loop) else { return refused }
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
            code: .cannotDecodeContentData, stage: .receiving, host: address?.host,
            reason: "the body's encoding is broken: \(failure)",
            advice: "send Accept-Encoding: identity to get it as it is")
    }

    /// The error of a body that ended before its coding did; `nil` if the coding is complete.
    ///
    /// A partial response (206) is a part of the coded representation, and may end anywhere.
    var unfinishedCoding: TransferError? {
        guard let decoder, !decoder.decoder.isAtEnd, let response, response.statusCode != 206 else {
            return nil
        }
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

    /// Returns the error of a body whose decoded size exceeds the limits; `nil` if it does not.
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
        if size > configuration.maximumDecompressedSize {
            return error(
                "the body decodes to more than \(configuration.maximumDecompressedSize) bytes",
                TransferError.raise("maximumDecompressedSize", "--max-decompressed-size"))
        }
        let ratio = configuration.maximumDecompressionRatio
        guard ratio > 0, size > configuration.decompressionRatioExemptSize else { return nil }
        guard Double(size) > Double(body.decoded) * ratio else { return nil }
        return error(
            "a decompression bomb: \(size) bytes of the body were \(body.decoded) on the wire, and "
                + "above \(configuration.decompressionRatioExemptSize) bytes no more than \(ratio) "
                + "for each are decoded",
            "if this server is to be trusted, "
                + TransferError.raise("maximumDecompressionRatio", "--max-decompression-ratio"))
    }
}
