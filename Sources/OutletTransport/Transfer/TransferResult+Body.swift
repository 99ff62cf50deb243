package import FoundationEssentials
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
    package mutating func place(_ content: Data, as delivery: BodyDelivery) {
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
                let kept =
                    isPart ? try Data(contentOf: file).prefix(Int(clamping: offset)) : Data()
                try (kept + content).write(to: file)
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
