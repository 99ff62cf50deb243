package import OutletHTTP

extension BodyStream {
    /// Rewinds the stream, so that it can be sent again.
    ///
    /// - Throws: ``TransferError`` with ``TransferError/Code/requestBodyStreamExhausted``.
    package func rewindForTransfer() throws(TransferError) {
        do {
            try rewind()
        } catch {
            throw TransferError(
                code: .requestBodyStreamExhausted, stage: .preparing,
                reason: "the request's body has to be sent again, but its stream cannot go "
                    + "back: \(error)")
        }
    }
}
