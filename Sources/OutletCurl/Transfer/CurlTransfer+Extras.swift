import OutletHTTP
import OutletSession
import OutletTLS

/// What few transfers need, behind one reference: each of these in the transfer itself would cost
/// all others a release at their end.
///
/// Thread: the loop's.
final class TransferExtras {
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var failure: TransferError?
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var heldHead: HTTPResponse?
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var interimHeads = 0
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var refusedAddress: (address: InternetAddress, policy: AddressPolicy)?
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var hasAllowedAddress = false
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var file: FileSink?
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var decoder: BodyDecoder?
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var verification: Verification?
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate(set) var tls = ""
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate(set) var proxy = ""
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var negotiationFault: String?
    /// Who judges the servers, where the session has a manager.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
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

    /// Closes what was open for the body of the answer.
    func letGoOfBody() {
        extras?.file = nil
        extras?.decoder = nil
    }
}
