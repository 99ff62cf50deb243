package import FoundationEssentials
import OutletFiles
import OutletHTTP

extension TransferResult {
    /// Puts a body where it was to go; for transports that hold it as a whole.
    ///
    /// One that went to the handler piece by piece is no part of the result. A file that cannot be
    /// written becomes the error, unless there is one.
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
                // Only a part is added to what is there.
                let isPart = response.statusCode == 206 && offset > 0
                let kept =
                    isPart ? try Data(contentOf: file).prefix(Int(clamping: offset)) : Data()
                try (kept + content).write(to: file)
            } catch let failure {
                error =
                    error
                    ?? TransferError(
                        code: .cannotWriteToFile, stage: .receiving, reason: "\(path): \(failure)")
            }
        }
    }
}
