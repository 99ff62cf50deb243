import CCurl
import OutletSession
import OutletTLS

// libcurl's callbacks: each finds its transfer and calls one method. All run on the loop's thread.

private func transfer(_ client: UnsafeMutableRawPointer?) -> CurlTransfer? {
    guard let client else { return nil }
    // The loop holds every active transfer, so the pointer is good as long as libcurl calls.
    return Unmanaged<CurlTransfer>.fromOpaque(client).takeUnretainedValue()
}

let receiveHeader: curl_write_callback = { bytes, size, count, client in
    transfer(client)?
        .receive(headerLine: UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

let receiveBody: curl_write_callback = { bytes, size, count, client in
    transfer(client)?
        .receive(bodyBytes: UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

let sendBody: curl_read_callback = { buffer, size, count, client in
    transfer(client)?
        .fillBody(UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
        ?? Int(CURL_READFUNC_ABORT)
}

let rewindBody: curl_seek_callback = { client, offset, origin in
    guard offset == 0, origin == SEEK_SET else { return CURL_SEEKFUNC_CANTSEEK }
    return transfer(client)?.rewindBody() == true ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}

let willSendRequest: curl_prereq_callback = { client, _, _, _, _ in
    transfer(client)?.willSend() == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

let willSecure: curl_ssl_ctx_callback = { _, context, client in
    if let context, let transfer = transfer(client) {
        transfer.verification = Verification.watch(context: context)
    }
    return CURLE_OK
}

let didProgress: curl_xferinfo_callback = { client, _, _, _, sent in
    transfer(client)?.noteSent(Int64(sent))
    return 0
}

let logWire: curl_debug_callback = { _, kind, bytes, count, client in
    if let transfer = transfer(client) {
        WireLog.write(
            kind, UnsafeRawBufferPointer(start: bytes, count: count), of: transfer.identifier)
    }
    return 0
}
