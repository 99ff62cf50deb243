import CCurl
import OutletHTTP
import OutletTLS
import OutletTransport

/// What few transfers need, behind one reference: each of these in the transfer itself would cost
/// all others a release at their end.
///
/// Thread: the loop's.
final class TransferExtras {
    fileprivate var failure: TransferError?
    fileprivate var heldHead: HTTPResponse?
    fileprivate var interimHeads = 0
    fileprivate var answeredChallenges = 0
    fileprivate var refusedAddress: (address: InternetAddress, policy: AddressPolicy)?
    fileprivate var hasAllowedAddress = false
    fileprivate var file: FileSink?
    fileprivate var decoder: BodyDecoder?
    fileprivate var isBodyAwaited = false
    fileprivate var observedEnd = ObservedEnd.ahead
    fileprivate var verification: Verification?
    fileprivate(set) var tls = ""
    fileprivate(set) var proxy = ""
    fileprivate var negotiationFault: String?
    fileprivate var wireLog = WireLog()
    /// Who judges the servers, where the session has a manager.
    var trust: TransferTrust?
    /// What a WebSocket has besides.
    let link: WebSocketLink?
    /// What the job answers challenges with.
    let answers: TransferJob.Answers?

    init(answers: TransferJob.Answers? = nil, link: WebSocketLink? = nil) {
        self.answers = answers
        self.link = link
    }
}

/// How far who observes a body has come with its end.
enum ObservedEnd {
    /// It has not come.
    case ahead
    /// libcurl is there, but the last piece is still looked at.
    case reached
    /// The observer was told.
    case shown
}

extension CurlTransfer {
    /// The extras, made when the first of them is set.
    private var made: TransferExtras {
        if let extras { return extras }
        let made = TransferExtras()
        extras = made
        return made
    }

    /// What a WebSocket has besides; `nil` for other transfers.
    var link: WebSocketLink? { extras?.link }

    /// Why the transfer fails, found out in a callback; goes before libcurl's own code.
    var failure: TransferError? {
        get { extras?.failure }
        set { made.failure = newValue }
    }

    /// A final head that may turn out to be one of an authentication round.
    var heldHead: HTTPResponse? {
        get { extras?.heldHead }
        set { if newValue != nil { made.heldHead = newValue } else { extras?.heldHead = nil } }
    }

    /// How many informational heads have come.
    var interimHeads: Int {
        get { extras?.interimHeads ?? 0 }
        set { made.interimHeads = newValue }
    }

    /// How many challenges libcurl has answered.
    var answeredChallenges: Int {
        get { extras?.answeredChallenges ?? 0 }
        set { made.answeredChallenges = newValue }
    }

    /// The last address of the host that a policy has refused, and the policy.
    var refusedAddress: (address: InternetAddress, policy: AddressPolicy)? {
        get { extras?.refusedAddress }
        set { made.refusedAddress = newValue }
    }

    /// Whether a policy has allowed an address of the host.
    var hasAllowedAddress: Bool {
        get { extras?.hasAllowedAddress ?? false }
        set { made.hasAllowedAddress = newValue }
    }

    /// The open file of a download.
    var file: FileSink? {
        get { extras?.file }
        set { made.file = newValue }
    }

    /// Undoes the codings of the body; `nil` while none are known that the request asked for.
    var decoder: BodyDecoder? {
        get { extras?.decoder }
        set { if newValue != nil { made.decoder = newValue } else { extras?.decoder = nil } }
    }

    /// Whether libcurl waits for more of the request's body.
    var isBodyAwaited: Bool {
        get { extras?.isBodyAwaited ?? false }
        set { made.isBodyAwaited = newValue }
    }

    /// How far who observes the body has come with its end.
    var observedEnd: ObservedEnd {
        get { extras?.observedEnd ?? .ahead }
        set { made.observedEnd = newValue }
    }

    /// What was found about the certificates of the connection that this transfer made.
    var verification: Verification? {
        get { extras?.verification }
        set { made.verification = newValue }
    }

    /// The TLS version and cipher; empty without TLS.
    var tls: String {
        get { extras?.tls ?? "" }
        set { made.tls = newValue }
    }

    /// The proxy's address, without credentials; empty without one.
    var proxy: String {
        get { extras?.proxy ?? "" }
        set { made.proxy = newValue }
    }

    /// Why GSSAPI has no ticket, in its words.
    var negotiationFault: String? {
        get { extras?.negotiationFault }
        set { made.negotiationFault = newValue }
    }

    /// Writes one piece of what is on the wire to stderr.
    func logWire(_ kind: curl_infotype, _ bytes: UnsafeRawBufferPointer) {
        made.wireLog.write(kind, bytes, of: identifier)
    }

    /// Closes what was open for the body of the answer.
    func letGoOfBody() {
        extras?.file = nil
        extras?.decoder = nil
    }
}
