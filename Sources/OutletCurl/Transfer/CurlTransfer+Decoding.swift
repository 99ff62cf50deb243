import CCurl
import OutletCompression
import OutletHTTP
import OutletTransport

/// The decoder of one body, and how far it has come.
final class BodyDecoder {
    let decoder: ContentDecoder
    /// The codings, as the server names them.
    let codings: String
    /// Bytes that were decoded.
    var decoded: Int64 = 0
    /// Bytes at the front of what libcurl delivers next that were decoded before a pause.
    var skip = 0

    init(_ decoder: ContentDecoder, codings: String) {
        self.decoder = decoder
        self.codings = codings
    }
}

/// Content codings (RFC 9110 §8.4): undone here, because libcurl does not say whether a coded body
/// had come to its end.
extension CurlTransfer {
    private static let contentEncoding: FieldNames = ["Content-Encoding"]

    /// Finds out whether the body of an answer that may be coded is, at its first bytes.
    ///
    /// - Returns: Whether the transfer goes on.
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

    /// Decodes what has come and hands it over.
    ///
    /// - Returns: What the callback has to return.
    func decode(
        _ bytes: UnsafeRawBufferPointer, _ body: BodyDecoder, _ easy: EasyHandle, _ loop: EventLoop
    ) -> Int {
        loop.assertOnLoop()
        // After a pause libcurl delivers once more from the start of where it was.
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
                // What is left of a piece may be a thousand times as much.
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

    /// Why a body that has ended is not whole: its coding has not come to its end.
    ///
    /// A part of a representation (206) is a part of the coded one, and ends anywhere.
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
                + "\(decoder.codings): not at its end after \(decoder.decoded) bytes",
            advice: isFramed ? "send Accept-Encoding: identity to get it as it is" : "")
    }

    /// Why a body that is being decoded has become too large, if it has.
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
