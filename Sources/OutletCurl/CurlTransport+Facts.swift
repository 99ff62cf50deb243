import CCurl
import FoundationEssentials
import OutletTLS
public import OutletTransport

extension CurlTransport {
    /// libcurl and the libraries it was built with, such as `libcurl/7.88.1 OpenSSL/3.0.15`.
    public static var libraryVersion: String { String(cString: curl_version()) }

    /// Where certificates are checked against under some settings, for people: files and
    /// directories, or why there are none.
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
