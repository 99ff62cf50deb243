import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The mutable state of a download besides that of every request.
struct DownloadState: Sendable {
    /// The file that the content is written to.
    var part: PartFile?
    /// The first byte that was requested; 0 for the whole content.
    var offset: Int64 = 0
    /// What to do with the current body.
    var plan = DownloadPlan.undecided
    /// The range of the current body within the content, if it is a part.
    var range: ContentRange?
    /// The file for a body that is not the content.
    var aside: PartFile?
    /// The body in memory of a redirect that was not followed.
    var collected: Data?
    /// The request before middleware and adapters; `nil` without both.
    var initial: HTTPRequest?
    /// What the next attempt may resume; of a resumed download, from the beginning.
    var resumable: ResumeData?
    /// The value of ``DownloadRequest/resumeData``.
    var resumeData: Data?
    /// Whether the download was cancelled with resume data.
    var keepsPart = false
    /// Called with the resume data when the request ends.
    var resumeDataHandlers: [@Sendable (Data?) -> Void] = []
    /// The file at its destination.
    var fileURL: URL?
    /// A file that the last attempt moved to its destination.
    var formerFile: URL?
    /// Whether the file is complete but could not be moved; the error has its URL, so it is kept.
    var isMisplaced = false
    /// Whether the request has ended, and its files were removed.
    var isOver = false
    var validators = InlineFirst<DownloadRequest.Validation>()

    /// The place of the current body within the content.
    var place: BodyPlace {
        plan == .continued
            ? BodyPlace(offset: offset, total: total) : BodyPlace(offset: 0, total: nil)
    }

    /// The length of the content in bytes; `nil` if it is not known.
    var total: Int64? { (plan == .continued ? range?.total : nil) ?? resumable?.totalBytes }

    /// How many short parts of the content were received before its end.
    private var shortParts = 0
    private static let shortPartLimit = 100
    private static let shortPartSize: Int64 = 64 << 10

    /// Counts the received part, after which more of the content is missing.
    ///
    /// - Returns: Whether the rest may be requested; false after too many short parts, because a
    ///   server could send parts of one byte for ever.
    mutating func mayRequestRest() -> Bool {
        guard let length = range?.length, length < Self.shortPartSize else { return true }
        shortParts += 1
        return shortParts <= Self.shortPartLimit
    }

    /// The error after too many short parts.
    static func tooManyParts(_ request: HTTPRequest) -> TransferError {
        TransferError(
            code: .badServerResponse, stage: .receiving, host: request.url?.host(),
            reason: "the server has sent more than \(shortPartLimit) parts of the content (206) "
                + "with fewer than \(shortPartSize) bytes each, and has not sent all of it")
    }

    /// What is missing after a part was received.
    enum Rest: Equatable {
        /// Nothing.
        case none
        /// The bytes from this offset on.
        case from(Int64)
        /// Everything: the received bytes are not the announced part.
        case whole
        /// The part is incomplete by this number of bytes.
        case missing(Int64)
        /// More, which is not requested, because the server has sent too many short parts.
        case refused
    }

    /// What is missing after a part was received, given the size of the file in bytes.
    func rest(_ size: Int64) -> Rest {
        guard plan == .continued, let end = range?.end else { return .none }
        if size < end { return .missing(end - size) }
        if size > end { return .whole }
        return end == total ? .none : .from(end)
    }

    /// Records how much of the content was received, given the size of the file in bytes.
    mutating func keepPart(_ size: Int64) {
        let total = total
        resumable?.totalBytes = total
        resumable?.bytesReceived = min(size, range?.end ?? size)
    }

    /// Resets the state for another attempt, except for the part to resume.
    mutating func reset() {
        formerFile = fileURL ?? aside?.url ?? formerFile
        fileURL = nil
        aside = nil
        collected = nil
        resumeData = nil
        isMisplaced = false
        isOver = false
        plan = .undecided
        range = nil
        shortParts = 0
    }
}
