internal import FoundationEssentials
public import OutletSession

extension DownloadResponse {
    /// Removes what the download has left: its file, and what it could be gone on with.
    public func removeFiles() {
        if let fileURL { try? FileManager.default.removeItem(at: fileURL) }
        if let resumeData { DownloadRequest.discard(resumeData: resumeData) }
    }
}
