import CCurl
import Glibc
import OutletPointers
import OutletTransport

/// A libcurl easy handle and the buffers that its transfers use one after another.
final class EasyHandle {
    // Release builds do not check exclusive access to what each transfer uses, because only the
    // loop's driver uses it. The checks of all such properties cost 3 % of a transfer's
    // instructions (Benchmarks/count transport).

    let raw: UnsafeMutableRawPointer
    /// libcurl's message for a failure (`CURLOPT_ERRORBUFFER`).
    let errorText: UnsafeMutablePointer<CChar>
    /// The transfer that runs on the handle; `nil` while the handle is idle.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private(set) var carried: CurlTransfer?
    /// The handle's index in its pool.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var place = 0
    /// The state of the socket callbacks: which poller and which origin's tally get the sockets.
    let opener: UnsafeMutablePointer<ccurl_opener>
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var headers = HeaderList()
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var head = HeadCollector()
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var body: ByteBuffer
    /// The request's body; other than `.none` only if `isMarked`.
    var source = RequestBody.none
    /// A copy of a small request body, at a fixed address while libcurl sends it.
    var requestBody: ByteBuffer

    /// The first option that libcurl refused, and why.
    private(set) var refusal: (option: CURLoption, code: CURLcode)?
    /// Whether options are set that must not apply to the next transfer, so that the handle is
    /// reset before it.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var isMarked = false

    /// Whether libcurl sends the request again only if the server has refused its HTTP/2 stream.
    var repeatsOnlyRefused = false
    /// The peers that the transfer authenticates itself to with Negotiate.
    var negotiatesWith: NegotiatedConnections.Parties = []
    /// Whether the request goes through a proxy's tunnel, so that the heads of the proxy's
    /// responses to `CONNECT` are received as well.
    var isTunnelled = false
    /// The number of sockets that the handle had opened before the transfer.
    var socketsAtStart: UInt32 = 0
    /// The number of sockets that the handle had opened when the request was last sent, or before the
    /// transfer.
    var socketsAtSend: UInt32 = 0
    /// The number of sockets that the handle had opened when the last TLS handshake started.
    var socketsAtHandshake: UInt32 = 0
    /// Whether `CURLOPT_CAINFO` and `CURLOPT_CAPATH` are set.
    var hasAuthorities = false
    /// The policy that `CURLOPT_SSL_CIPHER_LIST`, `CURLOPT_SSL_VERIFYPEER` and
    /// `CURLOPT_SSL_VERIFYHOST` are set for; `nil` if libcurl verifies the server.
    var policy: ServerTrustPolicy?
    /// The number of the client certificate that `CURLOPT_SSL_CIPHER_LIST` is set for; `nil` for
    /// none.
    var certificateNumber: UInt64?
    /// Whether `CURLOPT_HTTP_VERSION` excludes HTTP/2, against the configuration.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var excludesHTTP2 = false
    /// The `SSL *` of the connection with HTTP/1 that the request was sent on; `nil` for others.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var occupied: UnsafeMutableRawPointer?
    /// The present value of `CURLOPT_BUFFERSIZE`, in bytes.
    var bufferSize = usualBufferSize
    /// libcurl's default (`CURL_MAX_WRITE_SIZE`).
    static let usualBufferSize = Int(CURL_MAX_WRITE_SIZE)

    private let setUp: HandleSetUp

    /// Makes a handle; `nil` if memory cannot be allocated.
    init?(_ setUp: HandleSetUp) {
        guard let raw = curl_easy_init() else { return nil }
        self.raw = raw
        self.setUp = setUp
        body = ByteBuffer(from: setUp.blocks)
        requestBody = ByteBuffer(from: setUp.blocks)
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        opener = .allocate(capacity: 1)
        opener.initialize(
            to: ccurl_opener(
                poller: setUp.poller, tally: nil, opened: 0, error: 0, may_connect: mayConnect,
                client: nil))
        // `curl_easy_reset` does not change this, nor connections and TLS sessions.
        set(CURLOPT_SHARE, pointer: UnsafeRawPointer(ccurl_share_handle(setUp.share)))
        begin()
    }

    deinit {
        curl_easy_cleanup(raw)
        errorText.deallocate()
        opener.deallocate()
    }

    /// Returns the handle for the pointer that libcurl keeps for it (`CURLOPT_PRIVATE`).
    static func from(_ client: UnsafeMutableRawPointer) -> EasyHandle {
        ObjectPointer.object(at: client)
    }

    /// Calls `body` with the handle for a callback's pointer, the transfer that runs on it, and
    /// their loop.
    ///
    /// - Returns: What `body` returns; `nil` if no transfer runs on the handle.
    static func call<Result>(
        _ client: UnsafeMutableRawPointer?, _ body: (EasyHandle, CurlTransfer, EventLoop) -> Result
    ) -> Result? {
        guard let client else { return nil }
        return ObjectPointer.withObject(at: client, as: EasyHandle.self) { easy in
            guard let transfer = easy.carried, let loop = transfer.loop else { return nil }
            loop.assertOnLoop()
            return body(easy, transfer, loop)
        }
    }

    /// The pointer that libcurl passes to callbacks.
    var client: UnsafeRawPointer { UnsafeRawPointer(ObjectPointer.unretained(self)) }

    /// Sets the transfer that runs on the handle, until ``recycle(isClean:)``.
    func carry(_ transfer: CurlTransfer) {
        transfer.loop?.assertOnLoop()
        carried = transfer
    }

    private func begin() {
        errorText.pointee = 0
        applyConstants()
        applyConfiguration(setUp.settings)
        applyTLS(setUp.settings)
    }

    /// Whether libcurl has made a connection for the transfer.
    var hasNewConnection: Bool { ccurl_get_long(raw, CURLINFO_NUM_CONNECTS) > 0 }

    /// Prepares the handle for another transfer.
    ///
    /// - Parameter isClean: Whether the last transfer ended without an error.
    func recycle(isClean: Bool) {
        carried?.loop?.assertOnLoop()
        carried = nil
        head.reset()
        body.trim()
        requestBody.trim()
        guard isMarked || !isClean || refusal != nil else { return }
        curl_easy_reset(raw)
        isMarked = false
        refusal = nil
        bufferSize = Self.usualBufferSize
        excludesHTTP2 = false
        isTunnelled = false
        negotiatesWith = []
        repeatsOnlyRefused = false
        source = .none
        begin()
    }

    func set(_ option: CURLoption, _ value: Int) {
        note(option, ccurl_set_long(raw, option, value))
    }

    func set(_ option: CURLoption, offset value: Int64) {
        note(option, ccurl_set_offset(raw, option, value))
    }

    func set(_ option: CURLoption, text: String?) {
        note(option, ccurl_set_string(raw, option, text))
    }

    func set(_ option: CURLoption, pointer: UnsafeRawPointer?) {
        note(option, ccurl_set_pointer(raw, option, pointer))
    }

    func note(_ option: CURLoption, _ code: CURLcode) {
        if code != CURLE_OK, refusal == nil { refusal = (option, code) }
    }
}

/// What all handles of a loop have in common.
struct HandleSetUp {
    let poller: OpaquePointer
    let share: OpaquePointer
    let settings: TransportSettings
    let blocks: BlockPool
}

/// The handles of a loop, in use and idle; making a handle costs more than resetting one.
struct HandlePool {
    private let setUp: HandleSetUp
    /// The handles in use, followed by the idle ones, the last one returned first.
    private var handles: [EasyHandle] = []
    /// The number of handles in use.
    private(set) var inUse = 0
    private var peak = 0
    private var returns = 0

    init(_ setUp: HandleSetUp) {
        self.setUp = setUp
    }

    /// Whether a running transfer satisfies a condition.
    func contains(where isWanted: (CurlTransfer) -> Bool) -> Bool {
        handles[..<inUse].contains { $0.carried.map(isWanted) ?? false }
    }

    /// The running transfers that satisfy a condition.
    func transfers(where isWanted: (CurlTransfer) -> Bool) -> [CurlTransfer] {
        handles[..<inUse].compactMap(\.carried).filter(isWanted)
    }

    /// One of the running transfers; `nil` if there is none.
    var anyTransfer: CurlTransfer? { inUse > 0 ? handles[inUse - 1].carried : nil }

    /// Returns a handle for a transfer; `nil` if memory cannot be allocated.
    mutating func take(for transfer: CurlTransfer) -> EasyHandle? {
        if inUse == handles.count {
            guard let handle = EasyHandle(setUp) else { return nil }
            handles.append(handle)
        }
        let handle = handles[inUse]
        handle.place = inUse
        handle.carry(transfer)
        inUse += 1
        peak = max(peak, inUse)
        return handle
    }

    /// Returns a handle to the pool, after it was removed from the multi handle.
    ///
    /// - Parameters:
    ///   - isClean: Whether the last transfer ended without an error.
    ///   - isSpent: Whether no other transfer may use the handle, so that it is freed.
    mutating func put(_ handle: EasyHandle, isClean: Bool, isSpent: Bool = false) {
        handle.recycle(isClean: isClean)
        inUse -= 1
        if handle.place != inUse {
            handles[inUse].place = handle.place
            // Unlike the array's own method, moves the references instead of copying them.
            handles.withUnsafeMutableBufferPointer { $0.swapAt(handle.place, inUse) }
        }
        if isSpent { handles.remove(at: inUse) }
        returns += 1
        // Keeps as many as were in use at once among the last 4096 transfers, so that the handles
        // of one burst are freed again.
        guard returns >= 4096 else { return }
        let keep = max(64, peak)
        if handles.count > keep { handles.removeLast(handles.count - keep) }
        returns = 0
        peak = inUse
    }

    /// Frees the handles.
    mutating func drain() {
        handles = []
    }
}
