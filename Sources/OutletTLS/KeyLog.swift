import COpenSSL
import Glibc
import OutletFiles
import OutletPointers

/// A file that gets the keys of TLS connections, in the form that Wireshark reads
/// (`SSLKEYLOGFILE`).
///
/// Thread: any.
package final class KeyLog: Sendable {
    /// Why a file cannot take keys.
    package struct OpeningError: Error, Equatable, Sendable, CustomStringConvertible {
        /// The file, and what is wrong with it.
        package let description: String
    }

    private let descriptor: Int32

    /// Opens a file, made with mode 0600 if it is not there.
    package init(path: String) throws(OpeningError) {
        do throws(PrivateFile.Failure) {
            descriptor = try PrivateFile.extend(path)
        } catch {
            throw OpeningError(
                description: "\(path) \(error.what): \(String(cString: strerror(error.number)))")
        }
    }

    deinit {
        close(descriptor)
    }

    /// Decides where the keys of the connection go that is made of an `SSL_CTX *`.
    ///
    /// - Parameters:
    ///   - context: The `SSL_CTX *`, as libcurl gives it to `CURLOPT_SSL_CTX_FUNCTION`.
    ///   - log: Gets them; `nil` for nobody, whatever was set before.
    package static func watch(context: UnsafeMutableRawPointer, _ log: KeyLog?) {
        let context = OpaquePointer(context)
        // libcurl sets a callback of its own if the environment says so, before it calls.
        SSL_CTX_set_keylog_callback(context, nil)
        guard let log else { return }
        // The context keeps the log as long as it lives.
        let box = ObjectPointer.retained(log)
        guard slot >= 0, SSL_CTX_set_ex_data(context, slot, box) == 1 else {
            return ObjectPointer.release(box)
        }
        SSL_CTX_set_keylog_callback(context, keyCame)
    }

    /// OpenSSL's callback for each line.
    private static let keyCame: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?) -> Void = {
        connection, line in
        guard let connection, let line, let context = SSL_get_SSL_CTX(connection),
            let box = SSL_CTX_get_ex_data(context, slot)
        else { return }
        ObjectPointer.object(at: box, as: KeyLog.self).write(line)
    }

    /// One call of the system for each line, so that lines of several processes stay whole.
    private func write(_ line: UnsafePointer<CChar>) {
        var bytes = Array(UnsafeRawBufferPointer(start: line, count: strlen(line)))
        bytes.append(UInt8(ascii: "\n"))
        // A full disk costs lines, and no connection.
        _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    /// Where a context keeps its ``KeyLog``.
    private static let slot: Int32 = CRYPTO_get_ex_new_index(
        CRYPTO_EX_INDEX_SSL_CTX, 0, nil, nil, nil,
        { _, box, _, _, _, _ in
            if let box { ObjectPointer.release(box) }
        })
}
