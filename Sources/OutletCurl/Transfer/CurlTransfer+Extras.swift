import CCurl
import OutletHTTP
import OutletTLS
import OutletTransport

/// State that few transfers need, in one object.
///
/// Each of these properties in the transfer itself would cost every transfer a release at its end.
///
/// Thread: the loop's.
final class TransferExtras {
    fileprivate var failure: TransferError?
    fileprivate var heldHead: HTTPResponse?
    fileprivate var interimHeads = 0
    fileprivate var answeredChallenges = 0
    fileprivate var tunnelChallenges = 0
    fileprivate var refusedAddress: (address: InternetAddress, policy: AddressPolicy)?
    fileprivate var hasAllowedAddress = false
    fileprivate var file: FileSink?
    fileprivate var decoder: BodyDecoder?
    fileprivate var bodyWait = BodyWait.none
    /// The socket that libcurl has stopped reading from while the body is waited for, and the handle.
    var stoppedSocket: (descriptor: Int32, client: UnsafeRawPointer)?
    fileprivate var observedEnd = ObservedEnd.ahead
    fileprivate var heldPiece: [UInt8]?
    fileprivate var verification: Verification?
    fileprivate var closure: Verification?
    fileprivate var tunnel = BusyWatch()
    fileprivate(set) var tls = ""
    fileprivate(set) var proxy = ""
    fileprivate var negotiationFault: String?
    fileprivate var wireLog = WireLog()
    /// Verifies the servers; `nil` if the session has no server trust manager.
    var trust: TransferTrust?
    /// The state of a WebSocket; `nil` for other transfers.
    let link: WebSocketLink?
    /// The parts of the job that few jobs have: credentials, server trust, policies, observers.
    private(set) var answers: TransferJob.Answers?

    init(answers: TransferJob.Answers? = nil, link: WebSocketLink? = nil) {
        self.answers = answers
        self.link = link
    }

    /// Releases the observer of the body, which may retain the transfer.
    func releaseObserver() { answers?.bodyObserver = nil }
}

/// Whether libcurl's sending is paused until the stream of the request's body has more data, and what
/// the server has done meanwhile.
enum BodyWait {
    /// It is not paused.
    case none
    /// It is paused.
    case begun
    /// It is paused, and libcurl reads no more: the response has ended, or the connection.
    case stopped
    /// It is paused after a complete response, which leaves open whether the server wants the rest.
    case answered
    /// It is paused, libcurl reads no more, and the server has ended the connection.
    case ended
}

/// How far the end of a body has been shown to its observer.
enum ObservedEnd {
    /// libcurl has not finished the transfer.
    case ahead
    /// libcurl has finished, but the observer has not decided about the last piece.
    case reached
    /// The observer has been called with the end.
    case shown
}

extension CurlTransfer {
    /// The extras, made when the first property is set.
    private var made: TransferExtras {
        if let extras { return extras }
        let made = TransferExtras()
        extras = made
        return made
    }

    /// The state of a WebSocket; `nil` for other transfers.
    var link: WebSocketLink? { extras?.link }

    /// The error found in a callback; takes precedence over libcurl's own code.
    var failure: TransferError? {
        get { extras?.failure }
        set { made.failure = newValue }
    }

    /// A final head that libcurl may still answer, if it is an authentication challenge.
    var heldHead: HTTPResponse? {
        get { extras?.heldHead }
        set { if newValue != nil { made.heldHead = newValue } else { extras?.heldHead = nil } }
    }

    /// The number of informational heads (1xx) received.
    var interimHeads: Int {
        get { extras?.interimHeads ?? 0 }
        set { made.interimHeads = newValue }
    }

    /// The number of challenges that libcurl has answered.
    var answeredChallenges: Int {
        get { extras?.answeredChallenges ?? 0 }
        set { made.answeredChallenges = newValue }
    }

    /// The number of challenges that a proxy has sent in response to `CONNECT`.
    var tunnelChallenges: Int {
        get { extras?.tunnelChallenges ?? 0 }
        set { made.tunnelChallenges = newValue }
    }

    /// The last address of the host that a policy has refused, and that policy.
    var refusedAddress: (address: InternetAddress, policy: AddressPolicy)? {
        get { extras?.refusedAddress }
        set { made.refusedAddress = newValue }
    }

    /// Whether a policy has allowed an address of the host.
    var hasAllowedAddress: Bool {
        get { extras?.hasAllowedAddress ?? false }
        set { made.hasAllowedAddress = newValue }
    }

    /// The open file of a download; `nil` before it is opened.
    var file: FileSink? {
        get { extras?.file }
        set { made.file = newValue }
    }

    /// Decodes the body; `nil` if it has no codings, or the request did not ask for any.
    var decoder: BodyDecoder? {
        get { extras?.decoder }
        set { if newValue != nil { made.decoder = newValue } else { extras?.decoder = nil } }
    }

    /// Whether libcurl's sending is paused until the stream of the request's body has more data.
    var bodyWait: BodyWait {
        get { extras?.bodyWait ?? .none }
        set {
            let was = bodyWait
            guard newValue != was else { return }
            made.bodyWait = newValue
            guard let loop else { return }
            if was == .none { ccurl_poller_begin_upload_wait(loop.poller) }
            if newValue == .none {
                let socket = extras?.stoppedSocket
                ccurl_poller_end_upload_wait(
                    loop.poller, socket?.descriptor ?? -1, socket?.client)
                extras?.stoppedSocket = nil
            }
        }
    }

    /// How far the end of the body has been shown to its observer.
    var observedEnd: ObservedEnd {
        get { extras?.observedEnd ?? .ahead }
        set { made.observedEnd = newValue }
    }

    /// A piece of the body that is delivered when its observer has accepted it; `nil` if there is
    /// none.
    var heldPiece: [UInt8]? {
        get { extras?.heldPiece }
        set { made.heldPiece = newValue }
    }

    /// A description of the code in this process that the transfer waits for; `nil` if it does not.
    var waitedFor: String? {
        if pauses.contains(.observer) { return extras?.answers?.bodyObserver?.name }
        guard bodyWait != .none, case .stream(let stream) = request.body else { return nil }
        return stream.name
    }

    /// The connection whose end is the end of the response, over TLS; `nil` for other responses.
    var closure: Verification? {
        get { extras?.closure }
        set { if newValue != nil { made.closure = newValue } else { extras?.closure = nil } }
    }

    /// Whether a proxy answers `CONNECT` without end.
    func isProxyEndless(_ loop: EventLoop) -> Bool {
        made.tunnel.isStuck(in: loop.epoch.pointee, clock: ccurl_now_us)
    }

    /// The result of verifying the certificates of the connection that this transfer made.
    var verification: Verification? {
        get { extras?.verification }
        set { made.verification = newValue }
    }

    /// The TLS version and cipher; empty without TLS.
    var tls: String {
        get { extras?.tls ?? "" }
        set { made.tls = newValue }
    }

    /// The URL of the proxy, without credentials; empty if there is none.
    var proxy: String {
        get { extras?.proxy ?? "" }
        set { made.proxy = newValue }
    }

    /// GSSAPI's message why there is no Kerberos ticket; `nil` if it has not failed.
    var negotiationFault: String? {
        get { extras?.negotiationFault }
        set { made.negotiationFault = newValue }
    }

    /// Logs data that was sent or received to stderr.
    func logWire(_ kind: curl_infotype, _ bytes: UnsafeRawBufferPointer) {
        made.wireLog.write(kind, bytes, of: identifier)
    }

    /// Gives a piece of the request's head to the recorder in its context, if there is one.
    func recordHead(_ bytes: UnsafeRawBufferPointer) {
        guard request.hasContext else { return }
        request.context[SentHeadRecorder.Key.self]?.append(
            bytes, by: (identifier, sends), to: request.url)
    }

    /// Closes the download's file and releases the decoder.
    func releaseBody() {
        bodyWait = .none
        extras?.file = nil
        extras?.decoder = nil
    }
}
