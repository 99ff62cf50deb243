import FoundationEssentials
import OutletHTTP

/// What changes in a download besides what changes in every request.
struct DownloadState: Sendable {
    /// The file that the content is collected in.
    var part: PartFile?
    /// From which byte on the content was asked for.
    var offset: Int64 = 0
    /// What becomes of the body under way.
    var plan = DownloadPlan.undecided
    /// Which bytes of the content the body under way is, if it is a part.
    var range: ContentRange?
    /// The file for a body that is not the content.
    var aside: PartFile?
    /// A redirect's body that turned out to be the response's.
    var collected: Data?
    /// What the next attempt may go on with.
    var resumable: ResumeData?
    /// What the user may go on with.
    var resumeData: Data?
    /// Whether a cancel is meant to leave resume data.
    var keepsPart = false
    /// Told of the resume data once it is settled.
    var resumeDataHandlers: [@Sendable (Data?) -> Void] = []
    /// The file in its place.
    var fileURL: URL?
    /// A file that the last attempt has put into its place.
    var formerFile: URL?
    /// Whether the file is whole, but could not be moved: the error names it.
    var isMisplaced = false
    var validators = InlineFirst<DownloadRequest.Validation>()

    /// Where in the content the body under way begins.
    var start: Int64 { plan == .continued ? offset : 0 }

    /// How many bytes the content has, as far as is known.
    var total: Int64? { (plan == .continued ? range?.total : nil) ?? resumable?.totalBytes }

    /// What a part that has come leaves to be done.
    enum Rest: Equatable {
        /// Nothing.
        case none
        /// The bytes from there on.
        case from(Int64)
        /// All of it: what came is not the part that was announced.
        case whole
        /// The part is not whole, so many bytes are missing.
        case missing(Int64)
    }

    /// Judges a part that has come by how long the file is now.
    func rest(_ size: Int64) -> Rest {
        guard plan == .continued, let end = range?.end else { return .none }
        if size < end { return .missing(end - size) }
        if size > end { return .whole }
        return end == total ? .none : .from(end)
    }

    /// Keeps what is known of a part that has come, or of as much of it as has.
    mutating func keepPart(_ size: Int64) {
        let total = total
        resumable?.totalBytes = total
        resumable?.bytesReceived = min(size, range?.end ?? size)
    }

    /// Forgets what the last attempt brought, but for what can be gone on with.
    mutating func reset() {
        formerFile = fileURL ?? aside?.url ?? formerFile
        fileURL = nil
        aside = nil
        collected = nil
        resumeData = nil
        isMisplaced = false
        plan = .undecided
        range = nil
    }
}
