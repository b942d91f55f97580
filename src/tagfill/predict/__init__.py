"""Tags for any number of images in constant memory."""
