import CCurl
import OutletHTTP
import OutletSession
import OutletTLS

/// What few transfers need, behind one reference: each of these in the transfer itself would cost
/// all others a release at their end.
///
/// Thread: the loop's.
final class TransferExtras {
    @exclusivity(unchecked) fileprivate var failure: TransferError?
    @exclusivity(unchecked) fileprivate var heldHead: HTTPResponse?
    @exclusivity(unchecked) fileprivate var interimHeads = 0
    @exclusivity(unchecked) fileprivate var refusedAddress:
        (address: InternetAddress, policy: AddressPolicy)?
    @exclusivity(unchecked) fileprivate var hasAllowedAddress = false
    @exclusivity(unchecked) fileprivate var file: FileSink?
    @exclusivity(unchecked) fileprivate var decoder: BodyDecoder?
    @exclusivity(unchecked) fileprivate var verification: Verification?
    @exclusivity(unchecked) fileprivate(set) var tls = ""
    @exclusivity(unchecked) fileprivate(set) var proxy = ""
    @exclusivity(unchecked) fileprivate var negotiationFault: String?
    /// Who judges the servers, where the session has a manager.
    @exclusivity(unchecked) var trust: TransferTrust?
    @exclusivity(unchecked) fileprivate var wireLog = WireLog()
    /// What a WebSocket has besides.
    let link: WebSocketLink?
    /// What the job answers challenges with.
    let answers: TransferJob.Answers?

    init(answers: TransferJob.Answers? = nil, link: WebSocketLink? = nil) {
        self.answers = answers
        self.link = link
    }
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
