package import OutletHTTP

extension BodyStream {
    /// Takes the stream back to its start, to be sent once more.
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
