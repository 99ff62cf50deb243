import FoundationEssentials
import OutletHTTP
import OutletTLS
import OutletTransport

/// Lets a policy decide about one server, in the handshakes of one transfer.
///
/// Thread: the loop's.
final class ServerJudge {
    let policy: ServerTrustPolicy
    private let host: String
    private let port: Int
    private let verifier: OpenSSLVerifier
    /// Why the server was refused.
    private(set) var refusal: (any Error)?

    /// - Parameters:
    ///   - host: The server's, as it is connected to; an IPv6 address may be in brackets.
    ///   - verifier: Knows the session's authorities.
    init?(
        _ manager: any ServerTrustJudging, host: String, port: Int, verifier: OpenSSLVerifier
    ) {
        let host = String(decoding: host.trimmingBrackets().utf8.map(\.lowercased), as: UTF8.self)
        guard let policy = manager.policy(forHost: host, port: port) else { return nil }
        self.policy = policy
        self.host = host
        self.port = port
        self.verifier = verifier
    }

    /// Decides about what the server has shown.
    func judge(_ handshake: Handshake) -> Verification.Judgement {
        let trust = ServerTrust(
            host: host, port: port,
            sentCertificates: handshake.certificates.map { OutletTransport.Certificate($0) },
            ocspResponse: handshake.stapledResponse.map { Data($0) },
            verifier: HandshakeVerifier(verifier, securityLevel: handshake.securityLevel))
        do {
            return .accepted(isVerified: try policy.evaluate(trust))
        } catch {
            refusal = error
            return .refused
        }
    }

    /// The cipher list that keeps connections and TLS sessions of this policy to itself: libcurl
    /// compares it as it stands, and OpenSSL passes over the name that it does not know.
    ///
    /// - Parameter list: The session's own; `nil` for that of OpenSSL's configuration.
    func cipherList(of list: String?) -> String {
        "\(list ?? TLSLibrary.cipherList):OUTLET-EVAL-\(policy.number)"
    }

    /// What a transfer ends with when the server was refused.
    var error: TransferError {
        TransferError(
            code: .serverCertificateUntrusted, stage: .securing, host: host,
            reason: "the session's evaluator refuses the server")
    }
}

/// Who judges the servers that one transfer talks to over TLS: its own, and an https proxy.
///
/// Thread: the loop's.
final class TransferTrust {
    /// Judges the server; `nil` if libcurl does, or without TLS.
    let server: ServerJudge?
    /// Judges the proxy; `nil` if libcurl does, or without TLS.
    private(set) var proxy: ServerJudge?
    /// Whether a connection begins with a handshake with the proxy.
    private var hasSecureProxy = false
    /// How many sockets were open when the proxy last began a handshake.
    private var socketsAtProxy: UInt32?

    init(server: ServerJudge?) {
        self.server = server
    }

    /// The transfer goes by way of an https proxy.
    func goesThroughProxy(judgedBy judge: ServerJudge?) {
        hasSecureProxy = true
        proxy = judge
    }

    /// Who judges the handshake that begins now.
    ///
    /// libcurl says for nobody's sake whose it is. Of a new connection the first one is the proxy's; a
    /// second one inside of it comes without a new socket.
    ///
    /// - Parameter sockets: How many the transfer's handle has opened so far.
    func judgeOfNextHandshake(sockets: UInt32) -> ServerJudge? {
        guard hasSecureProxy, socketsAtProxy != sockets else { return server }
        socketsAtProxy = sockets
        return proxy
    }

    /// Who has refused a server of this transfer.
    var refusing: ServerJudge? {
        [server, proxy].lazy.compactMap(\.self).first { $0.refusal != nil }
    }
}

extension String {
    /// An address in a URL's brackets without them.
    fileprivate func trimmingBrackets() -> String {
        utf8.first == UInt8(ascii: "[") && utf8.last == UInt8(ascii: "]")
            ? String(utf8.dropFirst().dropLast()) ?? self : self
    }
}
