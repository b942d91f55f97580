"""Tags for streams of images, however many, in constant memory."""
