import CWslay
import OutletPointers

/// wslay's callbacks. Each calls one method of the ``WebSocketFrames`` that its context belongs to.
extension wslay_event_callbacks {
    /// The callbacks for a context whose user data is a ``WebSocketFrames``.
    static var ofFrames: wslay_event_callbacks {
        wslay_event_callbacks(
            recv_callback: onReceive, send_callback: onSend, genmask_callback: onMask,
            on_frame_recv_start_callback: onFrame, on_frame_recv_chunk_callback: onChunk,
            on_frame_recv_end_callback: nil, on_msg_recv_callback: onMessage)
    }
}

/// Calls `body` with the object of a context's user data, whose caller keeps it alive.
private func withFrames<Result>(
    _ client: UnsafeMutableRawPointer?, _ body: (WebSocketFrames) -> Result
) -> Result? {
    client.map { ObjectPointer.withObject(at: $0, body) }
}

private func onReceive(
    _ context: wslay_event_context_ptr?, _ buffer: UnsafeMutablePointer<UInt8>?, _ size: Int,
    _ flags: Int32, _ client: UnsafeMutableRawPointer?
) -> Int {
    let count = withFrames(client) { $0.takeInput(into: .init(start: buffer, count: size)) } ?? 0
    if count > 0 { return count }
    wslay_event_set_error(context, Int32(WSLAY_ERR_WOULDBLOCK.rawValue))
    return -1
}

private func onSend(
    _ context: wslay_event_context_ptr?, _ bytes: UnsafePointer<UInt8>?, _ size: Int,
    _ flags: Int32, _ client: UnsafeMutableRawPointer?
) -> Int {
    let count = withFrames(client) { $0.putOutput(.init(start: bytes, count: size)) } ?? 0
    if count > 0 { return count }
    wslay_event_set_error(context, Int32(WSLAY_ERR_WOULDBLOCK.rawValue))
    return -1
}

private func onMask(
    _ context: wslay_event_context_ptr?, _ buffer: UnsafeMutablePointer<UInt8>?, _ size: Int,
    _ client: UnsafeMutableRawPointer?
) -> Int32 {
    withFrames(client) { $0.makeMask(in: .init(start: buffer, count: size)) } == true ? 0 : -1
}

private func onFrame(
    _ context: wslay_event_context_ptr?,
    _ frame: UnsafePointer<wslay_event_on_frame_recv_start_arg>?,
    _ client: UnsafeMutableRawPointer?
) {
    if let frame { withFrames(client) { $0.beginFrame(frame.pointee) } }
}

private func onChunk(
    _ context: wslay_event_context_ptr?,
    _ chunk: UnsafePointer<wslay_event_on_frame_recv_chunk_arg>?,
    _ client: UnsafeMutableRawPointer?
) {
    guard let chunk else { return }
    withFrames(client) {
        $0.addChunk(.init(start: chunk.pointee.data, count: chunk.pointee.data_length))
    }
}

private func onMessage(
    _ context: wslay_event_context_ptr?, _ message: UnsafePointer<wslay_event_on_msg_recv_arg>?,
    _ client: UnsafeMutableRawPointer?
) {
    if let message { withFrames(client) { $0.endMessage(message.pointee) } }
}
