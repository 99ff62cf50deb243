import OutletFiles
import OutletTransport

/// Numbers the client certificates of a transport, so that a connection or a TLS session is used
/// only with the certificate, key and password that it was made with.
///
/// libcurl 7.88 compares the certificate's path or bytes only: neither the key, nor the content of
/// a file. A file that was replaced gets a new number.
///
/// Thread: any.
final class ClientCertificateNumbers: Sendable {
    private struct Entry {
        /// The files of certificate and key, `nil` for one that is missing or in memory.
        var files: [FileState?]
        var number: UInt64
    }

    private struct State {
        var entries: [ClientCertificate: Entry] = [:]
        var last: UInt64 = 0

        mutating func newNumber() -> UInt64 {
            last += 1
            return last
        }
    }

    /// The maximum number of entries; a provider may make any number of certificates.
    private static let limit = 256

    private let state = Lock(State())

    /// Returns the number of a certificate.
    ///
    /// If its files have changed and cannot be used now, the number remains the former one: probably
    /// one of the files was replaced, and the other will be. New connections fail until then.
    ///
    /// Reads files that have changed since the last call.
    func number(of certificate: ClientCertificate) -> UInt64 {
        let files = [certificate.certificate, certificate.key].map { source -> FileState? in
            guard case .file(let path)? = source else { return nil }
            return FileState(path: path)
        }
        let known = state.withLock { $0.entries[certificate] }
        if let known, known.files == files { return known.number }
        let isUsable = known == nil || certificate.fault == nil
        return state.withLock { state in
            if state.entries.count >= Self.limit, state.entries[certificate] == nil {
                state.entries = [:]
            }
            let number = isUsable ? nil : known?.number
            let entry = Entry(files: files, number: number ?? state.newNumber())
            state.entries[certificate] = entry
            return entry.number
        }
    }
}
