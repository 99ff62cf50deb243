import CCurl
import OutletSession
import OutletTLS

// libcurl's callbacks: each finds its handle and calls one method. All run on the loop's thread,
// and only while the handle is in the multi handle, when its loop holds it and its transfer.

func receiveHead(_ client: UnsafeMutableRawPointer?, _ isWhole: Bool) -> Bool {
    guard let client else { return false }
    let easy = EasyHandle.from(client)
    guard let transfer = easy.transfer else { return false }
    return isWhole ? transfer.receiveHead(easy) : transfer.refuseHead()
}

func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ client: UnsafeMutableRawPointer?
) -> Int {
    guard let client else { return 0 }
    let easy = EasyHandle.from(client)
    guard let transfer = easy.transfer else { return 0 }
    return transfer.receive(
        bodyBytes: UnsafeRawBufferPointer(start: bytes, count: size * count), easy)
}

func sendBody(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ client: UnsafeMutableRawPointer?
) -> Int {
    guard let client, let transfer = EasyHandle.from(client).transfer else {
        return Int(CURL_READFUNC_ABORT)
    }
    return transfer.fillBody(UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
        ?? Int(CURL_READFUNC_ABORT)
}

func rewindBody(_ client: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32) -> Int32
{
    guard let client, offset == 0, origin == SEEK_SET else { return CURL_SEEKFUNC_CANTSEEK }
    return EasyHandle.from(client).transfer?.rewindBody() == true
        ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}

func willSendRequest(
    _ client: UnsafeMutableRawPointer?, _ remote: UnsafeMutablePointer<CChar>?,
    _ local: UnsafeMutablePointer<CChar>?, _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
    guard let client else { return CURL_PREREQFUNC_ABORT }
    let easy = EasyHandle.from(client)
    return easy.transfer?.willSend(easy, fromPort: localPort) == true
        ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

func willSecure(
    _ easy: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?,
    _ client: UnsafeMutableRawPointer?
) -> CURLcode {
    if let client, let context, let transfer = EasyHandle.from(client).transfer {
        transfer.verification = Verification.watch(context: context)
        if transfer.asksForTrust { TLSConnection.askForStaple(context: context) }
    }
    return CURLE_OK
}

func didProgress(
    _ client: UnsafeMutableRawPointer?, _ toReceive: curl_off_t, _ received: curl_off_t,
    _ toSend: curl_off_t, _ sent: curl_off_t
) -> Int32 {
    if let client { EasyHandle.from(client).transfer?.noteSent(Int64(sent)) }
    return 0
}

func logWire(
    _ easy: UnsafeMutableRawPointer?, _ kind: curl_infotype, _ bytes: UnsafeMutablePointer<CChar>?,
    _ count: Int, _ client: UnsafeMutableRawPointer?
) -> Int32 {
    guard let client, let transfer = EasyHandle.from(client).transfer else { return 0 }
    let bytes = UnsafeRawBufferPointer(start: bytes, count: count)
    if kind == CURLINFO_TEXT { transfer.noteText(bytes) }
    if transfer.running?.settings.logsWire == true {
        WireLog.write(kind, bytes, of: transfer.identifier)
    }
    return 0
}
