import COpenSSL
import Glibc
import OutletFiles
import OutletPointers

/// A file that the keys of TLS connections are written to, in the format of `SSLKEYLOGFILE`, which
/// Wireshark reads.
///
/// Thread: any.
package final class KeyLog: Sendable {
    /// The error of a key log file that cannot be opened.
    package struct OpeningError: Error, Equatable, Sendable, CustomStringConvertible {
        /// The path and what is wrong with the file.
        package let description: String
    }

    private let descriptor: Int32

    /// Opens a file for appending; creates it with mode 0600 if it does not exist.
    ///
    /// - Throws: ``OpeningError``.
    package init(path: String) throws(OpeningError) {
        do throws(PrivateFile.Failure) {
            descriptor = try PrivateFile.extend(path)
        } catch {
            throw OpeningError(
                description: "\(path) \(error.what): \(systemText(error.number))")
        }
    }

    deinit {
        close(descriptor)
    }

    /// Sets the key log of the connections that are made with an `SSL_CTX *`.
    ///
    /// - Parameters:
    ///   - context: The `SSL_CTX *`, as libcurl passes it to `CURLOPT_SSL_CTX_FUNCTION`.
    ///   - log: The file for the keys; `nil` to write none, also if libcurl has set a callback.
    package static func watch(context: UnsafeMutableRawPointer, _ log: KeyLog?) {
        let context = OpaquePointer(context)
        // If SSLKEYLOGFILE is set, libcurl has set a callback of its own before.
        SSL_CTX_set_keylog_callback(context, nil)
        guard let log else { return }
        // The context retains the log until it is freed.
        let box = ObjectPointer.retained(log)
        guard slot >= 0, SSL_CTX_set_ex_data(context, slot, box) == 1 else {
            return ObjectPointer.release(box)
        }
        SSL_CTX_set_keylog_callback(context, keyCame)
    }

    /// OpenSSL's callback for each line of the key log.
    private static let keyCame: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?) -> Void = {
        connection, line in
        guard let connection, let line, let context = SSL_get_SSL_CTX(connection),
            let box = SSL_CTX_get_ex_data(context, slot)
        else { return }
        ObjectPointer.object(at: box, as: KeyLog.self).write(line)
    }

    /// Writes a line with one system call, so that lines of several processes are not mixed.
    private func write(_ line: UnsafePointer<CChar>) {
        var bytes = Array(UnsafeRawBufferPointer(start: line, count: strlen(line)))
        bytes.append(UInt8(ascii: "\n"))
        // Errors such as a full disk are ignored: connections must not fail because of the log.
        _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    /// The index of the ``KeyLog`` in a context's extra data.
    private static let slot: Int32 = CRYPTO_get_ex_new_index(
        CRYPTO_EX_INDEX_SSL_CTX, 0, nil, nil, nil,
        { _, box, _, _, _, _ in
            if let box { ObjectPointer.release(box) }
        })
}
