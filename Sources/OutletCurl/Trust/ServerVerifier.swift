import FoundationEssentials
import OutletHTTP
import OutletTLS
import OutletTransport

/// Applies a session's server trust policy to one server, in the handshakes of one transfer.
final class ServerVerifier {
    let policy: ServerTrustPolicy
    private let host: String
    private let port: Int
    private let verifier: OpenSSLVerifier
    /// The error of the evaluator that has refused the server; `nil` if none has.
    private(set) var refusal: (any Error)?

    /// Makes a verifier; `nil` if the manager has no policy for the host, so that libcurl verifies
    /// it.
    ///
    /// - Parameters:
    ///   - manager: The session's server trust manager.
    ///   - host: The host that is connected to; an IPv6 address may be in brackets.
    ///   - port: The port.
    ///   - verifier: Verifies chains with the session's authorities.
    init?(
        _ manager: any ServerTrustDeciding, host: String, port: Int, verifier: OpenSSLVerifier
    ) {
        let host = String(decoding: host.trimmingBrackets().utf8.map(\.lowercased), as: UTF8.self)
        guard let policy = manager.policy(forHost: host, port: port) else { return nil }
        self.policy = policy
        self.host = host
        self.port = port
        self.verifier = verifier
    }

    /// Evaluates what the server has sent in a handshake.
    func evaluate(_ handshake: Handshake) -> Verification.Decision {
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

    /// A cipher list that is unique to this policy, so that connections and TLS sessions accepted
    /// by it are not reused under another policy.
    ///
    /// libcurl reuses a connection only if the text of its list is the same. OpenSSL ignores the
    /// additional, unknown name.
    ///
    /// - Parameter list: The configuration's list; `nil` for that of OpenSSL's configuration.
    func cipherList(of list: String?) -> String {
        "\(list ?? TLSLibrary.cipherList):OUTLET-EVAL-\(policy.number)"
    }

    /// The error of a transfer whose server was refused.
    var error: TransferError {
        TransferError(
            code: .serverCertificateUntrusted, stage: .securing, host: host,
            reason: "the session's evaluator refuses the server")
    }
}

/// The verifiers of the servers that one transfer connects to over TLS: its own, and an https
/// proxy.
final class TransferTrust {
    /// Verifies the server; `nil` if libcurl verifies it, or without TLS.
    let server: ServerVerifier?
    /// Verifies the proxy; `nil` if libcurl verifies it, or without TLS.
    private(set) var proxy: ServerVerifier?
    /// Whether a connection starts with a handshake with an https proxy.
    private var hasSecureProxy = false
    /// The number of sockets opened when the last handshake with the proxy started.
    private var socketsAtProxy: UInt32?

    init(server: ServerVerifier?) {
        self.server = server
    }

    /// Records that the transfer goes through an https proxy.
    func goesThroughProxy(judgedBy verifier: ServerVerifier?) {
        hasSecureProxy = true
        proxy = verifier
    }

    /// Returns the verifier of the handshake that starts now; `nil` if libcurl verifies the
    /// certificate.
    ///
    /// libcurl does not report to which server a handshake belongs. The first one on a new socket
    /// is the proxy's; another one on the same socket is the server's, inside the tunnel.
    ///
    /// - Parameter sockets: The number of sockets that the transfer's handle has opened so far.
    func verifierOfNextHandshake(sockets: UInt32) -> ServerVerifier? {
        guard hasSecureProxy, socketsAtProxy != sockets else { return server }
        socketsAtProxy = sockets
        return proxy
    }

    /// The verifier that has refused a server of this transfer; `nil` if none has.
    var refusing: ServerVerifier? {
        [server, proxy].lazy.compactMap(\.self).first { $0.refusal != nil }
    }
}

extension String {
    /// The text without the brackets of an IPv6 address in a URL.
    fileprivate func trimmingBrackets() -> String {
        utf8.first == UInt8(ascii: "[") && utf8.last == UInt8(ascii: "]")
            ? String(utf8.dropFirst().dropLast()) ?? self : self
    }
}
