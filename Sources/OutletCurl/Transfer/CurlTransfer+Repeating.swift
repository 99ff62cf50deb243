import CCurl
import Glibc
import OutletHTTP
import OutletTransport

/// Decides whether a request that has been sent without a response may be sent again, and whether a
/// response is complete although libcurl reports an error.
extension CurlTransfer {
    /// How often a request is sent again at most without a response, as often as libcurl itself does
    /// (`CONN_MAX_RETRIES`); a server that refuses each of them would otherwise keep it going until
    /// its time limit.
    private static var mostRepeats: Int { 5 }

    /// How often a transfer waits again, after its stream was refused ``mostRepeats`` times: a server
    /// may refuse what exceeds a limit that it has not told yet.
    private static var mostWaits: Int { 2 }

    /// How often a request is sent at most while the server answers others.
    private static var mostSends: Int { 100 }

    /// Whether the request was sent as often as it may be.
    var isSentTooOften: Bool { repeats >= Self.mostRepeats && !mayWaitAgain }

    /// Whether a request that was sent ``mostRepeats`` times may wait again, and then be sent as often.
    ///
    /// A server may answer only a few of the requests on each connection, and refuse the others. libcurl
    /// does not tell that from the end of the connection for most of them.
    private var mayWaitAgain: Bool {
        guard let queue = address?.queue, queue.version == .http2 else { return false }
        if queue.answers != answersBefore { return sends < Self.mostSends }
        return waits < Self.mostWaits && queue.figures.active > 1
    }

    /// Whether the request may be sent again on the connection that libcurl has picked; sets
    /// `failure` if not.
    ///
    /// Idempotent methods may (RFC 9110 §9.2.2), and a request whose challenge was received. Others
    /// may only if the server has not processed the request.
    func maySendAgain(_ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        if !wasAnswered, repeats >= Self.mostRepeats {
            guard mayWaitAgain, request.method.isIdempotent || isUnprocessed(easy, loop) else {
                return fail(endlessRefusals)
            }
            waits += 1
            repeats = 0
            // Otherwise there is no stream whose end it could wait for.
            if let queue = address?.queue, queue.figures.active > 1 {
                wasUnprocessed = true
                lacksStream = true
                return false
            }
        }
        guard wasAnswered || request.method.isIdempotent || isUnprocessed(easy, loop) else {
            return fail(mayBeProcessed(easy))
        }
        return true
    }

    /// Prepares to send the request again.
    ///
    /// - Returns: Whether that is possible; if not, `failure` is set.
    func prepareRepeat(_ easy: EasyHandle) -> Bool {
        if !wasAnswered { repeats += 1 }
        wasUnprocessed = false
        // libcurl keeps the last message.
        easy.errorText.pointee = 0
        headBytesBefore = ccurl_get_long(easy.raw, CURLINFO_REQUEST_SIZE)
        guard case .reader = easy.source else { return true }
        // libcurl 7.88 does not rewind it after `HTTP_1_1_REQUIRED`.
        return rewindBody(easy)
    }

    /// Records what libcurl shows about the request as it was last sent, before the transfer starts
    /// again without having sent it: whether the server has not processed it, or wants HTTP/1.1.
    func noteUnprocessed(_ easy: EasyHandle, _ loop: EventLoop) {
        guard sends > 0 else { return }
        wasUnprocessed = isUnprocessed(easy, loop)
        if strstr(easy.errorText, "HTTP_1_1_REQUIRED") != nil { needsHTTP1 = true }
    }

    /// Whether the server has certainly not processed the request that libcurl is about to send again,
    /// or wants it over HTTP/1.1.
    ///
    /// With ``EasyHandle/repeatsOnlyRefused`` libcurl 7.88 sends a request again only if its stream was
    /// closed with
    /// - `REFUSED_STREAM`: by the server (RFC 9113 §8.7), or by nghttp2 because a GOAWAY excludes it
    ///   (RFC 9113 §6.8) or it could not be opened any more. There is no message;
    /// - `HTTP_1_1_REQUIRED`, after which it complains about an empty reply.
    ///
    /// A response may have begun even so: libcurl discards what it has not delivered yet.
    func isUnprocessed(_ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        if wasUnprocessed { return true }
        guard easy.repeatsOnlyRefused, ccurl_get_begun_status(easy.raw, true) == 0 else {
            return false
        }
        return easy.errorText.pointee == 0
            || strstr(easy.errorText, "HTTP_1_1_REQUIRED") != nil
            || strstr(easy.errorText, "Empty reply") != nil
    }

    /// Whether a transfer that libcurl ends with an error can be started again, because the server
    /// has not processed its request.
    ///
    /// An idempotent one whose response libcurl has lost can be started again, too.
    func canStartAgain(after code: CURLcode, _ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        guard failure == nil, !hasResponse, sends > 0, !isSentTooOften else { return false }
        if hasLostResponse(in: code), request.method.isIdempotent { return true }
        guard ccurl_get_begun_status(easy.raw, false) == 0 else { return false }
        // libcurl has repeated it as often as it does.
        if strstr(easy.errorText, TransferError.diedTooOften) != nil {
            return easy.repeatsOnlyRefused || request.method.isIdempotent
        }
        // libcurl 7.88 ends the last request that a GOAWAY excludes so, but also one whose body it was
        // sending when the server broke the protocol.
        return code == CURLE_HTTP2 && easy.errorText.pointee == 0
            && (isBodySent(easy) || request.method.isIdempotent)
    }

    /// Whether libcurl has lost a response over HTTP/2 that came while the transfer was suspended.
    ///
    /// libcurl 7.88 keeps the lines of all its heads as one, and cannot parse that if there is an interim
    /// one (1xx) among them.
    func hasLostResponse(in code: CURLcode) -> Bool {
        (code == CURLE_OUT_OF_MEMORY || code == CURLE_BAD_FUNCTION_ARGUMENT) && wasSuspended
            && sends > 0 && !hasResponse && speaksHTTP2
    }

    /// Whether the response is complete although libcurl reports an error, because the server has
    /// ended the stream or the connection before the whole body of the request was sent (RFC 9112 §9.3,
    /// RFC 9113 §8.1).
    func isAnswered(in spite: CURLcode, _ easy: EasyHandle) -> Bool {
        loop?.assertOnLoop()
        guard failure == nil else { return false }
        switch spite {
        // Without a message the stream was closed with `NO_ERROR`.
        case CURLE_HTTP2_STREAM, CURLE_PARTIAL_FILE:
            guard easy.errorText.pointee == 0 else { return false }
        // `fillBody()` has ended the transfer.
        case CURLE_ABORTED_BY_CALLBACK: break
        case CURLE_SEND_ERROR: guard !easy.head.isHTTP2 else { return false }
        default: return false
        }
        return isComplete(easy)
    }

    /// Whether the response is complete, although the server takes no more of the request's body.
    func isAnsweredUnread(_ easy: EasyHandle) -> Bool {
        bodyWait == .none && hasResponse && !isBodySent(easy) && isComplete(easy)
    }

    /// Whether the whole response has been received; false if that cannot be known.
    func isComplete(_ easy: EasyHandle) -> Bool {
        loop?.assertOnLoop()
        guard hasResponse else { return false }
        if request.method == .head || easy.head.statusCode == 204 || easy.head.statusCode == 304 {
            return true
        }
        return ccurl_get_offset(easy.raw, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
            == ccurl_get_offset(easy.raw, CURLINFO_SIZE_DOWNLOAD_T)
    }

    /// The status code of a response over HTTP/2 that libcurl has received but not delivered; `nil`
    /// if there is none.
    func undeliveredStatus(_ easy: EasyHandle, isSentAgain: Bool = false) -> Int? {
        loop?.assertOnLoop()
        guard sends > 0, !hasResponse, heldHead == nil else { return nil }
        let status = Int(ccurl_get_begun_status(easy.raw, isSentAgain))
        return status > 0 ? status : nil
    }

    private func mayBeProcessed(_ easy: EasyHandle) -> TransferError {
        loop?.assertOnLoop()
        let cause =
            undeliveredStatus(easy, isSentAgain: true).map(TransferError.undelivered)
            ?? "the server closed a kept connection while the request was sent"
        return TransferError(
            code: .networkConnectionLost, stage: .sending, host: address?.host,
            reason: "\(cause), and \(request.method) is not repeated by itself",
            advice: "retry if the server may see the request twice")
    }

    private var endlessRefusals: TransferError {
        TransferError(
            code: .networkConnectionLost, stage: .sending, host: address?.host,
            reason: "the request was sent \(sends) times, and each time the connection or its "
                + "stream ended without a response",
            advice: "retry later")
    }
}

extension TransferError {
    /// Says that libcurl has discarded a response; the text ends without a period.
    static func undelivered(_ status: Int) -> String {
        "the server reset the HTTP/2 stream together with its response (status \(status)), of which "
            + "libcurl then delivers nothing"
    }
}
