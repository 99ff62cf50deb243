package import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP

extension TransferResult {
    /// Delivers a complete body as the delivery says; for transports that hold it in memory.
    ///
    /// Under ``BodyDelivery/chunks`` the handler has received the bytes already; ``body`` becomes
    /// `nil`. If the file cannot be written, ``error`` becomes
    /// ``TransferError/Code/cannotWriteToFile``, unless it is set already.
    ///
    /// Thread: any that may wait for a disk.
    package mutating func deliver(_ content: Data, as delivery: BodyDelivery) {
        body = nil
        switch delivery {
        case .chunks: break
        case .collect: body = content.isEmpty ? nil : content
        case .file(let path, let offset):
            guard let response else { return }
            do {
                let file = URL(filePath: path)
                // Only a 206 is appended to the file; any other response replaces it.
                let isPart = response.statusCode == 206 && offset > 0
                if isPart {
                    try content.append(toFileAt: path, keeping: offset)
                } else {
                    try content.write(to: file)
                }
            } catch let failure {
                error =
                    error
                    ?? TransferError(
                        code: .cannotWriteToFile, stage: .receiving,
                        reason: "\(path): cannot be written: \(failure.fileReason)")
            }
        }
    }
}

extension Data {
    /// Writes the bytes to an existing file, after the first `size` bytes of it.
    ///
    /// - Throws: `CocoaError` with the system's error.
    fileprivate func append(toFileAt path: String, keeping size: Int64) throws {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown, number: errno) }
        defer { close(descriptor) }
        let end = lseek(descriptor, 0, SEEK_END)
        guard end >= 0 else { throw CocoaError(.fileWriteUnknown, number: errno) }
        let start = Swift.min(Int(clamping: size), Int(end))
        guard ftruncate(descriptor, start) == 0 else {
            throw CocoaError(.fileWriteUnknown, number: errno)
        }
        try withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let written = pwrite(
                    descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done,
                    start + done)
                if written < 0, errno == EINTR { continue }
                guard written >= 0 else { throw CocoaError(.fileWriteUnknown, number: errno) }
                done += written
            }
        }
    }
}
