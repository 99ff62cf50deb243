import FoundationEssentials
import OutletFiles
import OutletHTTP
import OutletTLS
import OutletTransport

/// A session's configuration as the loops of a transport use it: looked up once for them, never changed.
final class TransportSettings: Sendable {
    let configuration: TransportConfiguration
    /// The settings that may be wrong.
    let checked: CheckedSettings
    let proxies: ProxyResolver
    /// The proxies that are talked to over TLS, by their addresses without credentials.
    let secureProxies: [String: SecureProxy]
    /// The certificate authorities, or why there are none: an error of https transfers only.
    let trust: Result<TrustStore, TransferError>
    /// Judges servers where a session's own evaluators decide.
    let verifier: OpenSSLVerifier
    /// Whether each line on the wire goes to stderr.
    let logsWire: Bool
    /// How long a transfer may take in all, µs; `nil` for no limit.
    let resourceLimit: Int64?
    /// Which addresses may be connected to; `nil` for any.
    let addressPolicy: AddressPolicy?
    /// How many transfers may wait for a place at a time.
    let queueLimit: Int
    /// The `timeoutInterval` of a request that sets no limit of its own, and what it stands for, µs.
    private let usualTimeout = HTTPRequest.defaultTimeoutInterval
    private let usualPatience: Int64?
    private let environment: Environment

    init(_ configuration: TransportConfiguration, environment: Environment) {
        self.configuration = configuration
        self.environment = environment
        checked = CheckedSettings(configuration, environment: environment)
        let proxies = ProxyResolver(configuration.proxy, environment: environment.texts)
        self.proxies = proxies
        secureProxies = Dictionary(
            proxies.all.compactMap { proxy in
                SecureProxy(proxy).map { (ProxyResolver.withoutCredentials(proxy), $0) }
            }, uniquingKeysWith: { first, _ in first })
        let wireLog = environment.texts[Environment.ofWireLog] ?? ""
        logsWire = configuration.logsWire || !["", "0"].contains(wireLog)
        resourceLimit = microseconds(configuration.timeoutIntervalForResource)
        addressPolicy =
            configuration.addressPolicy.isUnrestricted ? nil : configuration.addressPolicy
        queueLimit = max(0, configuration.maximumQueuedRequests)
        usualPatience = microseconds(configuration.timeoutIntervalForRequest)
        let trust = Self.trust(configuration.certificateAuthorities, environment)
        self.trust = trust
        verifier = OpenSSLVerifier(trust)
    }

    /// The same settings, with certificates read anew.
    func reloaded() -> TransportSettings {
        TransportSettings(configuration, environment: environment)
    }

    /// Whether code of the program's is called when a transfer begins: who chooses evaluators and client
    /// certificates.
    func callsProgram(for job: borrowing TransferJob) -> Bool {
        guard configuration.clientCertificateProvider != nil || job.serverTrustManager != nil else {
            return false
        }
        return job.request.url?.scheme?.equalsIgnoringCase("https") == true
            || !secureProxies.isEmpty
    }

    /// Where the certificates of authorities lie, or why there are none.
    static func trust(
        _ authorities: CertificateAuthorities, _ environment: Environment
    ) -> Result<TrustStore, TransferError> {
        // Opening a named pipe blocks until it has a writer, and OpenSSL opens it on the loop's thread.
        func store(
            _ store: TrustStore, unless fault: NotPlainFile?
        ) -> Result<TrustStore, TransferError> {
            guard let fault else { return .success(store) }
            return .failure(
                TransferError(
                    code: .secureConnectionFailed, stage: .preparing,
                    reason: "certificate authorities: \(fault)"))
        }
        switch authorities {
        case .file(let path): return store(TrustStore(bundle: path), unless: NotPlainFile(path))
        case .directory(let path):
            return store(
                TrustStore(directory: path), unless: TrustStore.fault(inDirectory: path))
        case .system:
            do throws(TransferError) {
                try environment.check(Environment.ofAuthorities)
            } catch {
                return .failure(error)
            }
            do throws(TrustStoreError) {
                return .success(try TrustStore.find(environment: environment.texts))
            } catch {
                return .failure(
                    TransferError(
                        code: .secureConnectionFailed, stage: .preparing,
                        reason: error.description, advice: error.advice))
            }
        }
    }

    /// How many connections to an origin there may be at a time.
    func connectionLimit(of origin: Origin) -> Int {
        configuration.maximumConnectionsPerOrigin[origin]
            ?? configuration.httpMaximumConnectionsPerHost
    }

    /// The largest number of connections to one origin.
    var largestConnectionLimit: Int {
        configuration.maximumConnectionsPerOrigin.values.reduce(
            configuration.httpMaximumConnectionsPerHost, max)
    }

    /// How long a request may make no progress, µs; `nil` for no limit.
    func patience(of request: HTTPRequest) -> Int64? {
        let own = request.timeoutInterval
        return own == usualTimeout ? usualPatience : microseconds(own)
    }
}

/// Seconds in whole milliseconds, at least one, counted in µs; `nil` for 0 (no limit).
private func microseconds(_ seconds: TimeInterval) -> Int64? {
    milliseconds(seconds).map { Int64($0) * 1000 }
}
