internal import FoundationEssentials
public import OutletSession

extension DownloadResponse {
    /// Removes the files of a download: the result, and the partial file of its resume data.
    public func removeFiles() {
        if let fileURL { try? FileManager.default.removeItem(at: fileURL) }
        if let resumeData { DownloadRequest.discard(resumeData: resumeData) }
    }
}
