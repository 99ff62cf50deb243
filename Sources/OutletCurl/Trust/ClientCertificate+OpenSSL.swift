import FoundationEssentials
import OutletTLS
import OutletTransport

extension ClientCertificate {
    /// What is wrong with the certificate or its key, including the file's name; `nil` if they are
    /// usable.
    var fault: String? {
        let format: ClientIdentity.Format =
            switch format {
            case .pem: .pem
            case .der: .der
            case .pkcs12: .pkcs12
            }
        return ClientIdentity.fault(
            certificate: ClientIdentity.Source(certificate),
            key: key.map { ClientIdentity.Source($0) }, format: format, password: keyPassword)
    }
}

extension ClientIdentity.Source {
    fileprivate init(_ source: ClientCertificate.Source) {
        switch source {
        case .file(let path): self = .file(path: path)
        case .bytes(let data): self = .bytes(Array(data))
        }
    }
}
