import CCurl
import FoundationEssentials
import OutletTLS
public import OutletTransport

extension CurlTransport {
    /// The versions of libcurl and of the libraries it was built with.
    ///
    /// For example `libcurl/7.88.1 OpenSSL/3.0.15`.
    public static var libraryVersion: String { String(cString: curl_version()) }

    /// Describes the certificate authorities that a configuration leads to, for people to read.
    ///
    /// - Parameter configuration: The settings; the process's environment is read as well.
    /// - Returns: The file and the directory of the authorities, separated by a comma. If
    ///   verification is off, `not verified`. If none were found, `none: ` and the reason.
    public static func certificateAuthorities(of configuration: TransportConfiguration) -> String {
        guard configuration.verifiesCertificates else { return "not verified" }
        let settings = TransportSettings(
            configuration, environment: .current)
        switch settings.trust {
        case .success(let store):
            return [store.bundle, store.directory].compactMap(\.self).joined(separator: ", ")
        case .failure(let error): return "none: \(error.reason)"
        }
    }
}
