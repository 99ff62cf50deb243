import CCurl
import Glibc
import OutletTLS
import OutletTransport

// libcurl's callbacks. Each finds its handle and calls one method. All run on the loop's thread,
// while the handle is in the multi handle, so the loop keeps the handle and its transfer alive.

func receiveHead(_ client: UnsafeMutableRawPointer?, _ isWhole: Bool) -> Bool {
    EasyHandle.call(client) { easy, transfer, loop in
        isWhole ? transfer.receiveHead(easy, loop) : transfer.refuseHead()
    } ?? false
}

func beginHTTP2Head(_ client: UnsafeMutableRawPointer?) -> Bool {
    EasyHandle.call(client) { easy, transfer, loop in transfer.beginHTTP2Head(easy, loop) } ?? false
}

func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ client: UnsafeMutableRawPointer?
) -> Int {
    EasyHandle.call(client) { easy, transfer, loop in
        transfer.receive(
            bodyBytes: UnsafeRawBufferPointer(start: bytes, count: size * count), easy, loop)
    } ?? 0
}

func sendBody(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ client: UnsafeMutableRawPointer?
) -> Int {
    let given = EasyHandle.call(client) { easy, transfer, loop in
        transfer.fillBody(
            UnsafeMutableRawBufferPointer(start: buffer, count: size * count), easy, loop)
    }
    return (given ?? nil) ?? Int(CURL_READFUNC_ABORT)
}

func didStopReading(
    _ client: UnsafeMutableRawPointer, _ socket: Int32, _ hasEnded: Bool
) -> Bool {
    EasyHandle.call(client) { easy, transfer, loop in
        transfer.didStopReading(from: socket, hasEnded: hasEnded, easy, loop)
    } ?? false
}

func rewindBody(_ client: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32) -> Int32
{
    guard offset == 0, origin == SEEK_SET else { return CURL_SEEKFUNC_CANTSEEK }
    let isDone = EasyHandle.call(client) { easy, transfer, _ in transfer.rewindBody(easy) }
    return isDone == true ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}

func willSendRequest(
    _ client: UnsafeMutableRawPointer?, _ remote: UnsafeMutablePointer<CChar>?,
    _ local: UnsafeMutablePointer<CChar>?, _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
    guard let remote, let local else { return CURL_PREREQFUNC_ABORT }
    let ends = ConnectionEnds(
        remote: remote, local: local, remotePort: remotePort, localPort: localPort)
    let goesOn = EasyHandle.call(client) { easy, transfer, loop in
        transfer.willSend(easy, loop, on: ends)
    }
    return goesOn == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

func mayConnect(_ client: UnsafeMutableRawPointer, _ address: UnsafePointer<sockaddr>) -> Bool {
    EasyHandle.call(client) { _, transfer, loop in
        transfer.mayConnect(to: address, loop.settings)
    } ?? false
}

func willSecure(
    _ easy: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?,
    _ client: UnsafeMutableRawPointer?
) -> CURLcode {
    guard let context else { return CURLE_SSL_CONNECT_ERROR }
    let goesOn = EasyHandle.call(client) { easy, transfer, _ in transfer.willSecure(easy, context) }
    return goesOn == true ? CURLE_OK : CURLE_SSL_CONNECT_ERROR
}

func didProgress(
    _ client: UnsafeMutableRawPointer?, _ toReceive: curl_off_t, _ received: curl_off_t,
    _ toSend: curl_off_t, _ sent: curl_off_t
) -> Int32 {
    let goesOn = EasyHandle.call(client) { _, transfer, loop in
        transfer.noteProgress(sent: Int64(sent), loop)
    }
    return goesOn == false ? 1 : 0
}

func logWire(
    _ easy: UnsafeMutableRawPointer?, _ kind: curl_infotype, _ bytes: UnsafeMutablePointer<CChar>?,
    _ count: Int, _ client: UnsafeMutableRawPointer?
) -> Int32 {
    let bytes = UnsafeRawBufferPointer(start: bytes, count: count)
    EasyHandle.call(client) { _, transfer, loop in
        if kind == CURLINFO_TEXT { transfer.noteText(bytes) }
        if kind == CURLINFO_HEADER_OUT, loop.settings.configuration.recordsSentHeads {
            transfer.recordHead(bytes)
        }
        if loop.settings.logsWire { transfer.logWire(kind, bytes) }
    }
    return 0
}
